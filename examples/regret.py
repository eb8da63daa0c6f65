"""Learn while playing: who is alike is found on the way, and the pictures say when."""

from dataclasses import replace
from pathlib import Path

import lumpable as lb
from lumpable.reports import charts
from lumpable.reports.kit import save

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

save.chart(charts.regret(runs), Path("regret.html"))  # all three in one chart
save.chart(run.plot(), Path("run.html"))  # clusters, fallen arms and the matrix too
