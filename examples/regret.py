"""Learn while playing: groups are found on the way, and the pictures say when."""

from dataclasses import replace

import lumpable as lb

problem = lb.Problem(contexts=30, arms=20, groups=3)
world = lb.worlds.lumpable(30, 20, 3, seed=1)
HORIZON = 10**13

# Endless plans are cut at a horizon. With a 64th of the paper's constants groups come apart much
# earlier; that gives up the proof.
bold = replace(lb.PAPER, phase=1, split=1)
runs = {
    name: lb.simulate(plan, world, horizon=HORIZON, seed=2)
    for name, plan in {
        "Algorithm 4": lb.regret.equal_groups(problem),
        "Algorithm 4, small constants": lb.regret.equal_groups(problem, constants=bold),
        "standard, ignores groups": lb.standard.online(problem),
    }.items()
}
for name, run in runs.items():
    print(f"{name}: regret {run.regret:.2e} in {run.rounds:.0e} rounds")

run = runs["Algorithm 4"]
apart = next(row for row in run.rows() if row.clusters == 3)
print(f"three clusters from phase {apart.h} on")

run.plot().save("run.png")  # regret, clusters, fallen arms and the matrix
