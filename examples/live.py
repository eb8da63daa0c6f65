"""A live session: users come one by one, rewards come back, the session is saved and reopened."""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

import lumpable as lb

USERS, OFFERS, GROUPS = 12, 6, 2
world = lb.worlds.lumpable(USERS, OFFERS, GROUPS, noise="bernoulli", seed=1)  # stands for real life
rng = np.random.default_rng(2)

# With the paper's constants this would take millions of visits; these give up its proof.
small = replace(lb.PAPER, confidence=1.0, test=1.0, arrivals=0.5, stretch=1.0)
problem = lb.Problem(contexts=USERS, arms=OFFERS, groups=GROUPS)
plan = lb.pac.any_contexts(problem, epsilon=0.2, delta=0.1, constants=small)
session = lb.Session(plan, seed=3)

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "offers.session"
    while session.result is None:
        user = int(rng.choice(USERS, p=world.frequency))
        offer = session.ask(user)
        session.tell(user, offer, world.reward(user, offer, rng))
        if session.rounds == 10_000:  # stop here; tomorrow we go on as if nothing had happened
            session.save(file)
            session = lb.Session.load(file)

print(f"{session.rounds:,} visits, loss {world.loss(session.policy):.3f}")
print("an offer for each user:", session.policy.tolist())
