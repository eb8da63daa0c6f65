"""The three-level model: what was seen, and what a fit makes of it. Pure functions of counts."""
