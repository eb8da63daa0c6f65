"""Mean rewards of your own: which method is cheaper, what it finds, and for whom."""

import polars as pl

import lumpable as lb

# Click rates of four offers for six users; in real life a table from a warehouse.
rates = pl.DataFrame(
    [
        {"context": user, "arm": offer, "mean": rate}
        for user, likes in {
            "ann": "tea",
            "bob": "coffee",
            "cleo": "tea",
            "dan": "juice",
            "eve": "tea",
            "fay": "coffee",
        }.items()
        for offer, rate in {
            "tea": 0.1,
            "coffee": 0.1,
            "juice": 0.1,
            "water": 0.2,
            likes: 0.6,
        }.items()
    ]
)
world = lb.worlds.from_frame(rates, noise="bernoulli")
problem = lb.Problem(contexts=world.contexts, arms=world.arms, groups=world.groups)
print(f"{world.groups} groups, cheaper here: {lb.budget(problem, 0.1, 0.05).cheaper}")

run = lb.simulate(lb.reductions.cheaper(problem, epsilon=0.1, delta=0.05), world, seed=1)
print(f"{run.rounds:,} rounds, loss {world.loss(run.policy):.3f}")
for user, arm in zip(world.context_names, run.policy, strict=True):
    print(f"  {user}: {world.arm_names[arm]}")
