"""The truth: worlds to learn in, and the order in which contexts come. Knows no algorithm."""

from lumpable.worlds.made import from_frame, from_matrix, hard, low_rank, lumpable, read, survey

__all__ = ["from_frame", "from_matrix", "hard", "low_rank", "lumpable", "read", "survey"]
