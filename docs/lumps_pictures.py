"""Draw the pictures of lumps.md: what the learner believes after 30 visits of each of 200 users."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import lumpable as lb
from lumpable.reports.charts import belief_charts
from lumpable.reports.kit.theme import LIGHT

PICTURES = Path(__file__).parent / "pictures"
ARMS = ("news", "sport", "music", "film", "food", "travel", "games", "books", "garden", "science")


def main() -> None:
    """Let 200 users of three tastes come 30 times each; draw means and memberships."""
    world = lb.worlds.lumpable(200, len(ARMS), 3, noise="bernoulli", deviation=0.05, seed=4)
    rng = np.random.default_rng(5)
    lumps = lb.Lumps(arms=ARMS, seed=6)
    for _ in range(30):
        for user in rng.permutation(200).tolist():
            choice = lumps.decide(user)
            lumps.reward(choice.id, world.reward(user, ARMS.index(str(choice.arm)), rng))
    print(lumps.summary())
    drawn = {
        "means": belief_charts.means(lumps.core, arm_names=ARMS),
        "members": belief_charts.memberships(lumps.core),
    }
    for name, chart in drawn.items():
        path = PICTURES / f"lumps-{name}.png"
        belief_charts.in_scheme(chart, LIGHT).save(path, scale_factor=1.5)
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
