"""From a log to an answer: who is alike, what to show to whom, and what it is worth."""

import numpy as np
import polars as pl

import lumpable as lb

rng = np.random.default_rng(1)
customer, offer = rng.integers(80, size=6000), rng.integers(3, size=6000)
likes = np.array([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]])[customer % 2, offer]  # nobody knows these
log = pl.DataFrame(
    {
        "customer": customer,
        "offer": np.array(["tea", "water", "coffee"])[offer],
        "clicked": (rng.random(6000) < likes).astype(int),
        "p": np.full(6000, 1 / 3),
    }
)

learned = lb.learn(log, "customer", "offer", "clicked", propensity="p", rewards="binary")
print(learned.summary())
for row in learned.policy()[:4]:
    print(f"customer {row.user}: {row.do}, {row.mean:.0%} click")
for found in learned.value().lift:
    print(f"{found.method}: {found.value:+.2f} per visit ({found.low:+.2f} to {found.high:+.2f})")
