"""One problem turned into another: for now the switch between the paper's and the naive method."""

from __future__ import annotations

from lumpable import bounds, checks, pac, standard
from lumpable.plan import Conversation, algorithm
from lumpable.problem import PAPER, Constants, Problem


@algorithm
def cheaper(
    problem: Problem, *, epsilon: float, delta: float, constants: Constants = PAPER
) -> Conversation:
    """Algorithm 3 or the naive method, whichever asks for fewer rounds at worst (reading 33).

    Equal counts: the naive method. Both run at the same epsilon; they do not promise the same
    loss (`lumpable.budget`).
    """
    epsilon, delta = checks.accuracy(epsilon, delta)
    paper = bounds.any_contexts_rounds(problem, epsilon, delta, constants)
    naive = bounds.naive_rounds(problem, epsilon, delta, constants)
    method = pac.any_contexts if paper < naive else standard.naive
    return (yield from method(problem, epsilon=epsilon, delta=delta, constants=constants))
