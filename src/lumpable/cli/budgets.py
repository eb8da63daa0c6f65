"""What `lumpable budget` prints: costs, promises, and which method to choose. Computes nothing."""

from __future__ import annotations

from lumpable.base.words import short
from lumpable.cli.show import console, grid, table
from lumpable.plans.costs import METHODS, Budget

LOSS = (
    "mean reward that the policy gives up: at most this, except with probability about delta; "
    "a bound above 1 is vacuous, since no loss is larger"
)


def print_budget(found: Budget) -> None:
    """Print what each method costs and promises, and which one to choose."""
    S, K, r = found.problem.letters
    out = console()
    out.print(
        f"{S} contexts, {K} arms, {r} groups, epsilon {found.epsilon:g}, delta {found.delta:g}; "
        "the paper's constants\n"
    )
    out.print(
        table(
            f"What each method costs at epsilon {found.epsilon:g}",
            ("method", "rounds, at most", "loss, as printed", "loss, as proved"),
            [
                (METHODS[m.name].title, short(m.rounds), _bound(m.printed), _bound(m.promise))
                for m in found.methods
            ],
        )
    )
    out.print(
        table(
            f"What each costs if all are to promise a loss of {found.epsilon:g}",
            ("method", "epsilon needed", "rounds, at most"),
            [
                (METHODS[m.name].title, f"{m.equal_epsilon:.2g}", short(m.equal_rounds))
                for m in found.methods
            ],
        )
    )
    out.print(advice(found))
    out.print(equal_advice(found))
    out.print(
        f"Any method needs about {short(found.lower_bound)} rounds (Theorem 3, which leaves out a "
        "constant factor).\n"
    )
    meanings = [(about.title, about.summary) for about in METHODS.values()]
    out.print(grid([*meanings, ("loss", LOSS)]))
    out.print("\nFor regret instead of a policy, add --horizon: in how many rounds.")


def _bound(loss: float | None) -> str:
    if loss is None:
        return "-"
    return f"{loss:.3g}" if loss <= 1 else f"{loss:.3g} (vacuous)"


def advice(found: Budget) -> str:
    """Say which method is cheaper at the same epsilon, and from what size on the other one is."""
    rounds = {m.name: m.rounds for m in found.methods}
    return "At the same epsilon, " + _choice(found.cheaper, found.other_from, rounds)


def equal_advice(found: Budget) -> str:
    """Say the same for an equal promise."""
    rounds = {m.name: m.equal_rounds for m in found.methods}
    return "At the same promise, " + _choice(found.equal_cheaper, found.equal_other_from, rounds)


def _choice(cheaper: str, other_from: tuple[int, int] | None, rounds: dict[str, int]) -> str:
    paper, naive = short(rounds["any_contexts"]), short(rounds["naive"])
    if cheaper == "naive":
        words = f"the naive method is cheaper here: {naive} rounds, Algorithm 3 at most {paper}."
        other, way, course = "Algorithm 3", "on", "as both grow"
    else:
        words = f"Algorithm 3 is cheaper here: at most {paper} rounds, the naive method {naive}."
        other, way, course = "the naive method", "down", "as both shrink"
    if other_from is None:
        return f"{words} It stays so {course}."
    S, K = other_from
    return f"{words} From S = {short(S)}, K = {short(K)} {way}, {course}, {other} is cheaper."
