"""Comparisons: learners x worlds x seeds -> rows, on one protocol and on common luck.

`cells` runs one cell; `plan` checks what an experiment says, with `described_worlds` for its worlds
and `values` for single values, and `reading` reads it from TOML;
`backends` carries cells out on many cores or machines, `store` keeps their rows, `runner` does all
of that; `comparison` is the way in from Python and `command` the one from a terminal.
"""
