"""A personaliser in ten lines: visitors come by name, offers are chosen, clicks come back later."""

import numpy as np

import lumpable as lb

rng = np.random.default_rng(1)
likes = {f"visitor {i}": ("tea", "coffee", "juice")[i % 3] for i in range(60)}  # nobody knows these

lumps = lb.Lumps(arms=["tea", "coffee", "juice", "water"], floor=0.01, seed=2)
under_way = []
for _ in range(4000):
    visitor = f"visitor {rng.integers(60)}"
    choice = lumps.decide(visitor)
    under_way.append((choice.id, rng.random() < (0.6 if choice.arm == likes[visitor] else 0.1)))
    if len(under_way) > 50:  # clicks are reported fifty visits later
        lumps.reward(*under_way.pop(0))

print(lumps.summary())
for group in lumps.groups():
    print(f"about {group.size:.0f} visitors like {group.best_arm} best: {group.mean:.0%} click")
liked = sum(lumps.ask(visitor) == drink for visitor, drink in likes.items())
print(f"{liked} of 60 visitors are offered what they like best")
