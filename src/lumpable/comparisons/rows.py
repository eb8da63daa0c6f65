"""The rows of a comparison: what a checkpoint of one learner in one world with one seed says."""

from __future__ import annotations

from typing import Any

COLUMNS: dict[str, str] = {
    "learner": "string",  # the label that people read, unique in an experiment
    "parameters": "string",  # JSON of what differs from the learner's defaults, keys sorted
    "knows": "string",  # what only an oracle can know, comma-separated; empty for a fair peer
    "world": "string",  # label of the world or scene, unique in an experiment
    "setting": "string",  # JSON of how the world is made, keys sorted
    "contexts": "int64",
    "arms": "int64",
    "groups": "int64",
    "horizon": "int64",
    "seed": "int64",
    "round": "int64",  # 0 in the single row of a cell that is not done
    "regret": "float64",
    "reward": "float64",  # null where rewards are not drawn one by one
    "simple_regret": "float64",
    "worse_off": "float64",
    "clusters": "int64",  # null for learners without clusters
    "ari": "float64",  # null likewise
    "seconds": "float64",
    "bytes": "int64",  # null where nobody can say
    "status": "string",  # done, not run, failed
    "reason": "string",  # why it was not run, or the traceback of what failed
    "version": "string",  # of lumpable
}
STATUSES = ("done", "not run", "failed")
KEY = ("learner", "parameters", "world", "setting", "horizon", "seed")
"""What a cell is known by: a cell whose key is in the rows is not run again."""
Row = dict[str, Any]
