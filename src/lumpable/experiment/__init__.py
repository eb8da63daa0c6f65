"""Comparisons: learners x worlds x seeds -> rows, on one protocol and on common luck."""
