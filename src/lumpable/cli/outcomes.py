"""What `lumpable simulate` prints of a run: a table, notes and advice. Computes nothing."""

from __future__ import annotations

from collections.abc import Iterator

from lumpable.base.words import counted, short
from lumpable.cli.show import console, grid, loss_bound
from lumpable.plans import bounds
from lumpable.runs.outcome import Outcome, PolicyOutcome, RegretOutcome, Share
from lumpable.runs.run import Run

COMPARE = "What rates leave out can matter more: run the same with --algorithm standard to compare."
Rows = list[tuple[str, str] | None]


def print_policy(result: PolicyOutcome, run: Run) -> None:
    """Print how good a policy is, what it cost and what was promised."""
    epsilon, delta = result.parameters["epsilon"], result.parameters["delta"]
    promise = run.ran.promise
    by_paper = promise is not None and promise.whole is not None
    each = " in each bucket" if promise is not None and promise.bucketed else ""
    _print(
        result,
        [
            *_setting(result, run, f"{run.ran.title}, epsilon {epsilon:g}, delta {delta:g}"),
            ("loss", f"{result.loss:.4g}, or {result.loss / epsilon:.2f} epsilon"),
            ("promised loss", loss_bound(result.promise)),
            ("rounds used", f"{short(result.rounds)} in {counted(result.requests, 'request')}"),
            ("paper's bound" if by_paper else "at most", f"{short(result.bound)} rounds{each}"),
            (
                "naive method",
                f"{short(result.naive_rounds)} rounds, "
                f"promises a loss of {loss_bound(result.naive_promise)}",
            ),
            ("regret", f"{short(result.regret)}, the reward that learning cost"),
            ("candidates", _arms(result.candidates)),
        ],
    )


def print_regret(result: RegretOutcome, run: Run, comparable: bool) -> None:
    """Print what playing up to a horizon cost; `comparable`: whether rates can be compared."""
    repaired = ", mended" if result.parameters["mended"] else ""
    _print(
        result,
        [
            *_setting(result, run, run.ran.title + repaired),
            ("rounds played", f"{short(result.rounds)} in {counted(result.requests, 'request')}"),
            ("regret", f"{_regret_words(result.regret)}, the reward that learning cost"),
            ("regret per round", _per_round(result.regret_per_round)),
            ("policy at the end", f"loses {result.loss:.4g} a round"),
            None,
            *_clusters(result),
            None,
            ("rate in theory", _rate(result.rate, result.rate_formula)),
            ("standard rate", _rate(result.standard_rate, bounds.STANDARD.formula)),
        ],
    )
    console().print("\n" + regret_advice(result, run, comparable))


def _print(result: Outcome, rows: Rows) -> None:
    out = console()
    out.print(grid(rows))
    for note in result.notes:
        out.print(f"note: {note}")


def _setting(result: Outcome, run: Run, method: str) -> Rows:
    return [
        ("world", run.world.summary),
        ("method", method),
        ("constants", result.constants),
        ("seed", f"{result.seed} for the world, {result.run_seed} for the run"),
        None,
    ]


def _arms(arms: list[int]) -> str:
    if not arms:
        return "this method names none"
    named = ", ".join(map(str, arms[:12]))
    return f"{counted(len(arms), 'arm')}: {named}{', ...' if len(arms) > 12 else ''}"


def _regret_words(regret: float) -> str:
    return f"{regret:.3g}" if 0 < regret < 100 else short(regret)


def _per_round(regret: float) -> str:
    if regret <= 0:
        return "0"
    rounds = short(max(1, round(1 / regret)))
    return f"{regret:.3g}, as if one round in {rounds} had lost a reward of 1"


def _rate(rate: float | None, formula: str) -> str:
    if rate is None:
        return "none: no theorem applies here"
    return f"{short(rate)} = {formula} without constants and logarithms"


def _clusters(result: RegretOutcome) -> Rows:
    """Say which clusters were found and when; one line where a method forms none."""
    if result.buckets is not None:
        return list(_in_buckets(result.buckets))
    if result.clusters is None:
        return [("clusters", "this method forms none")]
    good = "" if result.good_arms is None else f"{result.good_arms:.3g} a cluster on average"
    return [
        ("clusters", f"{result.clusters} for {counted(result.groups, 'hidden group')}"),
        ("all groups apart", _after(result.apart)),
        ("first arm dropped", _after(result.first_fall)),
        ("arms still good", good),
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
    yield "arms dropped", f"in {len(falls)} of {len(buckets)} buckets{first}"


def _after(rounds: int | None) -> str:
    return "not yet" if rounds is None else f"after {short(rounds)} rounds"


def regret_advice(result: RegretOutcome, run: Run, comparable: bool) -> str:
    """Say when the first split is possible if there was none, else which bound is smaller here."""
    fell = [result.first_fall, *(share.first_fall for share in result.buckets or ())]
    clusters = [result.clusters or 1, *(share.clusters or 1 for share in result.buckets or ())]
    if result.fall_possible and fell == [None] * len(fell) and max(clusters) == 1:
        return (
            "No cluster was split and no arm dropped yet. With these constants clusters can be "
            f"split from about {short(result.split_possible or 0)} rounds on, and arms dropped "
            f"from about {short(result.fall_possible)} on, if their means differ by 1; later if "
            "they differ by less. Try a larger --horizon."
        )
    if not comparable or result.rate is None:
        return COMPARE
    printed = result.rate_formula in (bounds.LUMPABLE.formula, bounds.LOW_RANK.formula)
    whose = "paper's" if printed else "method's"
    rates = {whose: result.rate, "standard": result.standard_rate}
    better, worse = sorted(rates, key=lambda name: rates[name])
    return (
        f"The {better} rate is the smaller one at this size, whatever the horizon: the {worse} one "
        f"is {rates[worse] / rates[better]:.3g} times as large."
        + ("" if run.ran.rate is bounds.STANDARD else f" {COMPARE}")
    )
