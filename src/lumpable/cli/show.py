"""What people read on stdout: tables and sentences about budgets and runs.

Computes nothing. Rich is imported when something is shown, so that `--help` is quick.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from lumpable.base.words import short
from lumpable.plans.costs import Budget
from lumpable.runs.account import Account, Share
from lumpable.runs.outcome import Outcome

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

NAMES = {
    "any_contexts": "Algorithm 3",
    "near_uniform": "Algorithm 1",
    "naive": "naive method",
    "elimination": "elimination",
    "cheaper": "Algorithm 3 or the naive method",
    "equal_groups": "Algorithm 4",
    "any_groups": "Algorithm 6",
    "any_contexts_online": "Algorithm 6 in buckets",
    "unknown_groups": "Algorithm 6 without r",
    "never_worse": "Algorithm 6 or the standard one",
    "online": "standard algorithm",
    "low_rank": "Algorithm 1 on a cover",
    "low_rank_online": "Algorithm 6 on a cover",
}
"""What a method is called in words."""
MEANINGS = (
    ("Algorithm 1", "learns groups, when all contexts come about equally often"),
    ("Algorithm 3", "learns groups, however often each context comes"),
    ("naive method", "plays every arm on every context, equally often"),
    ("elimination", "plays on each context what may still be best; often ends much earlier"),
    (
        "loss",
        "mean reward that the policy gives up: at most this, but for a chance of about delta; "
        "a bound above 1 says nothing, for no loss is larger",
    ),
)


COMPARE = "What rates leave out can matter more: run the same with --algorithm standard to compare."


def console() -> Console:
    """Return a console on stdout, as wide as the terminal, or 80 columns without one."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False, soft_wrap=False)


def promise(loss: float) -> str:
    """Write a loss bound; above 1 it says nothing, for no loss is larger."""
    return f"{loss:.3g}" if loss <= 1 else f"{loss:.3g}, above 1: says nothing"


def outcome(result: Outcome) -> None:
    """Print what a run came to."""
    epsilon, delta = result.parameters["epsilon"], result.parameters["delta"]
    by_paper = result.method in ("any_contexts", "near_uniform")
    rows = [
        ("world", result.world.removeprefix("World(").removesuffix(")")),
        ("method", f"{NAMES[result.method]}, epsilon {epsilon:g}, delta {delta:g}"),
        ("constants", result.constants),
        ("seed", f"{result.seed} for the world, {result.run_seed} for the run"),
        None,
        ("loss", f"{result.loss:.4g}, which is {result.loss / epsilon:.2f} epsilon"),
        ("promised loss", promise(result.promise)),
        ("rounds used", f"{short(result.rounds)} in {result.requests} requests"),
        (
            "paper's bound" if by_paper else "at most",
            f"{short(result.bound)} rounds{_each(result)}",
        ),
        ("naive method", f"{short(result.naive_rounds)} rounds, {_promises(result.naive_promise)}"),
        ("regret", f"{short(result.regret)}, the reward that learning cost"),
        ("candidates", _listed(result.candidates)),
    ]
    out = console()
    out.print(grid(rows))
    for note in result.notes:
        out.print(f"note: {note}")


def account(result: Account) -> None:
    """Print what playing up to a horizon came to."""
    rows = [
        ("world", result.world.removeprefix("World(").removesuffix(")")),
        ("method", NAMES[result.method] + (", mended" if result.parameters["mended"] else "")),
        ("constants", result.constants),
        ("seed", f"{result.seed} for the world, {result.run_seed} for the run"),
        None,
        ("rounds played", f"{short(result.rounds)} in {_many(result.requests, 'request')}"),
        ("regret", f"{_lost(result.regret)}, the reward that learning cost"),
        ("regret per round", _per_round(result.regret_per_round)),
        ("policy at the end", f"loses {result.loss:.4g} a round"),
        None,
        *_found(result),
        ("paper's rate", _rate(result.rate, result.rate_formula)),
        ("standard rate", _rate(result.standard_rate, "sqrt(S K T)")),
    ]
    out = console()
    out.print(grid(rows))
    for note in result.notes:
        out.print(f"note: {note}")
    out.print("\n" + regret_advice(result))


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _lost(regret: float) -> str:
    return f"{regret:.3g}" if 0 < regret < 100 else short(regret)


def _per_round(regret: float) -> str:
    if regret <= 0:
        return "0"
    rounds = short(max(1, round(1 / regret)))
    return f"{regret:.3g}, as if one round in {rounds} had lost a reward of 1"


def _rate(rate: float | None, formula: str) -> str:
    if rate is None:
        return "no theorem gives one here"
    return f"{short(rate)} = {formula} without constants and logarithms"


def _found(result: Account) -> list[tuple[str, str] | None]:
    """Say what was found and when; nothing where a method forms no clusters."""
    if result.buckets is not None:
        return [*_in_buckets(result.buckets), None]
    if result.clusters is None:
        return [("clusters", "none are formed by this method"), None]
    good = "" if result.good_arms is None else f"{result.good_arms:.3g} a cluster on average"
    return [
        ("clusters", f"{result.clusters} for {result.groups} hidden groups"),
        ("all groups apart", _after(result.apart)),
        ("first arm fell", _after(result.first_fall)),
        ("arms still good", good),
        None,
    ]


def _in_buckets(buckets: list[Share]) -> Iterator[tuple[str, str]]:
    apart = sum(share.apart is not None for share in buckets)
    falls = [share.first_fall for share in buckets if share.first_fall is not None]
    found = ", ".join(f"{share.clusters or 0} for {share.groups}" for share in buckets)
    if all(share.clusters == share.groups for share in buckets):
        found = "in every bucket as many as"
    yield "buckets", f"{len(buckets)} side by side, the most frequent contexts first"
    yield "clusters", f"{found} hidden groups"
    yield "all groups apart", f"in {apart} of {len(buckets)} buckets"
    first = f", first after {short(min(falls))} of a bucket's own rounds" if falls else ""
    yield "arms fell", f"in {len(falls)} of {len(buckets)} buckets{first}"


def _after(rounds: int | None) -> str:
    return "not yet" if rounds is None else f"after {short(rounds)} rounds"


def regret_advice(result: Account) -> str:
    """Say when something can happen if nothing has, else which bound is the better one here."""
    fell = [result.first_fall, *(share.first_fall for share in result.buckets or ())]
    found = [result.clusters or 1, *(share.clusters or 1 for share in result.buckets or ())]
    if result.fall_possible and fell == [None] * len(fell) and max(found) == 1:
        return (
            "Nothing has happened yet: with these constants clusters can be split from about "
            f"{short(result.split_possible or 0)} rounds on and arms can fall from about "
            f"{short(result.fall_possible)} on, if their means differ by 1, and later if by less. "
            "Try a larger --horizon."
        )
    unlike = result.parameters["algorithm"] == "low-rank"  # a rate with another power of T
    if unlike or result.rate is None or any("theorem does not" in n for n in result.notes):
        return COMPARE
    rates = {"paper's": result.rate, "standard": result.standard_rate}
    better, worse = sorted(rates, key=lambda name: rates[name])
    return (
        f"The {better} rate is the smaller one at this size, whatever the horizon: the {worse} one "
        f"is {rates[worse] / rates[better]:.3g} times as large."
        + ("" if result.method == "online" else f" {COMPARE}")
    )


def _each(result: Outcome) -> str:
    return " in each bucket" if result.method == "any_contexts" else ""


def _promises(loss: float) -> str:
    return f"promises a loss of {promise(loss)}"


def _listed(arms: list[int]) -> str:
    if not arms:
        return "none are named by this method"
    named = ", ".join(map(str, arms[:12]))
    return f"{len(arms)} arms: {named}{', ...' if len(arms) > 12 else ''}"


def grid(rows: Iterable[tuple[str, str] | None]) -> Table:
    """Return names and values side by side; None is an empty line."""
    from rich.table import Table

    found = Table.grid(padding=(0, 2))
    found.add_column(no_wrap=True)
    found.add_column(overflow="fold")
    for row in rows:
        found.add_row(*(row or ("", "")))
    return found


def budget(found: Budget) -> None:
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
                (NAMES[m.name], short(m.rounds), _bound(m.printed), _bound(m.promise))
                for m in found.methods
            ],
        )
    )
    out.print(
        table(
            f"What each costs if all are to promise a loss of {found.epsilon:g}",
            ("method", "epsilon needed", "rounds, at most"),
            [
                (NAMES[m.name], f"{m.equal_epsilon:.2g}", short(m.equal_rounds))
                for m in found.methods
            ],
        )
    )
    out.print(advice(found))
    out.print(equal_advice(found))
    out.print(
        f"Whatever the method, about {short(found.lower_bound)} rounds are needed (Theorem 3, "
        "which leaves out a constant factor).\n"
    )
    out.print(grid(MEANINGS))


def _bound(loss: float | None) -> str:
    if loss is None:
        return "-"
    return f"{loss:.3g}" if loss <= 1 else f"{loss:.3g} (says nothing)"


def table(title: str, head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Table:
    """Return a table whose first column is words and whose others are numbers."""
    from rich import box
    from rich.table import Table

    found = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for number, name in enumerate(head):
        found.add_column(name, justify="right" if number else "left", no_wrap=True)
    for row in rows:
        found.add_row(*row)
    return found


def advice(found: Budget) -> str:
    """Say which method is cheaper at the same epsilon, and from which size on the other one is."""
    rounds = {m.name: m.rounds for m in found.methods}
    return "At the same epsilon " + _choice(found.cheaper, found.other_from, rounds)


def equal_advice(found: Budget) -> str:
    """Say the same for an equal promise."""
    rounds = {m.name: m.equal_rounds for m in found.methods}
    return "At the same promise " + _choice(found.equal_cheaper, found.equal_other_from, rounds)


def _choice(cheaper: str, other_from: tuple[int, int] | None, rounds: dict[str, int]) -> str:
    paper, naive = short(rounds["any_contexts"]), short(rounds["naive"])
    if cheaper == "naive":
        words = "the naive method is the cheaper one here: "
        words += f"{naive} rounds, Algorithm 3 at most {paper}."
        other, way, course = "Algorithm 3", "on", "as both grow"
    else:
        words = "Algorithm 3 is the cheaper one here: "
        words += f"at most {paper} rounds, the naive method {naive}."
        other, way, course = "the naive method", "down", "as both shrink"
    if other_from is None:
        return f"{words} It stays so {course}."
    S, K = other_from
    return f"{words} From S = {short(S)}, K = {short(K)} {way}, {course}, {other} is cheaper."
