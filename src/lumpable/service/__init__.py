"""Decide now, learn later, lose nothing: a learner behind a log. Knows no mathematics."""
