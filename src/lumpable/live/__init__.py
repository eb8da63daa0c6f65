"""People instead of a world: plans played round by round, saved and reopened."""
