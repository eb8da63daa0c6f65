"""What answers for people compile: which arm is best for whom, and how surely.

No decision waits for them, so a service leaves them to the first who asks; `lumpable warm` makes
them with the rest.
"""

from __future__ import annotations

from lumpable.lumps.belief import shared_kernels
from lumpable.lumps.core.parts_compiled import Part, parts_of


def of_answers() -> list[Part]:
    """Return what a policy and its doubts call."""
    return parts_of(shared_kernels)
