"""What happened, kept for good: entries of a log, and the stores that hold them."""
