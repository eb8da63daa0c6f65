"""Comparisons: learners x worlds x seeds -> rows, on one protocol and on common luck.

`experiment` checks what is to be compared (`world_specs` its worlds, `values` single values, `toml`
reads it from a file), `cell` plays one learner in one world with one seed, `jobs` carries cells out
on many cores or machines, `store` keeps their rows, `running` does all of that. `comparison` is the
way in from Python. `results`, `statistics` and `standing` read rows and say how learners stand.
"""
