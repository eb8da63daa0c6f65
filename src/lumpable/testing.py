"""For authors of learners: a check of every law of the protocol.

from lumpable.testing import check_learner
"""

from lumpable.runs.contract import check_learner

__all__ = ["check_learner"]
