"""Hypothesis invents the same problems in every run, so that a red test is red everywhere."""

from hypothesis import settings

settings.register_profile("fixed", derandomize=True, database=None, deadline=None)
settings.load_profile("fixed")
