"""For people who write learners: every law of the protocol, checked.

from lumpable.testing import check_learner
"""

from lumpable.runs.contract import check_learner

__all__ = ["check_learner"]
