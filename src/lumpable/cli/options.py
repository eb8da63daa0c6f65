"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from lumpable.base.checks import MOST_ROUNDS
from lumpable.base.errors import BadArgument

Command = TypeVar("Command", bound=Callable[..., Any])


def one_of(
    name: str, *words: str, help: str, metavar: str | None = None
) -> Callable[[Command], Command]:
    """Return an option that takes one of a few words; the first is the default.

    `metavar` stands for the words in the help, where they are too many for a line.
    """
    return click.option(
        name,
        type=click.Choice(words),
        default=words[0],
        show_default=True,
        metavar=metavar,
        help=help,
    )


def stack(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return a decorator that gives a command all of these options, in their order."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def size_options(contexts: int, arms: int, groups: int) -> Callable[[Command], Command]:
    """Give a command the size of a problem, with these defaults."""
    return stack(
        *(
            click.option(name, default=default, show_default=True, help=help)
            for name, default, help in (
                ("--contexts", contexts, "S, how many users."),
                ("--arms", arms, "K, how many offers."),
                ("--groups", groups, "r, how many groups."),
            )
        )
    )


accuracy_options = stack(
    click.option(
        "--epsilon",
        default=0.1,
        show_default=True,
        help="Accuracy, in (0, 1/2]. A smaller one takes more rounds.",
    ),
    click.option(
        "--delta", default=0.05, show_default=True, help="Probability of failure, in (0, 1)."
    ),
)
"""Give a command the accuracy and the confidence that are asked for."""

world_options = stack(
    one_of("--sizes", "equal", "geometric", "giant", help="Sizes of the groups."),
    one_of("--frequency", "uniform", "zipf", help="How often contexts come."),
    one_of(
        "--noise", "gaussian", "bernoulli", "poisson", "exponential", help="Law of the rewards."
    ),
    click.option(
        "--sd", default=1.0, show_default=True, help="Standard deviation of gaussian noise."
    ),
    one_of(
        "--means",
        "uniform",
        "hard",
        help="Mean rewards of a group: uniform on [0, 1], or 1/2 with one arm 0.4 better.",
    ),
    click.option("--rank", type=int, help="A world of this low rank instead of groups."),
)
"""Give a command the world in which a method learns."""

hard_option = click.option(
    "--hard", type=click.IntRange(1, 3), help="A hard instance of the paper's lower bound instead."
)

matrix_option = click.option(
    "--matrix",
    type=click.Path(path_type=Path),
    help="Mean rewards of your own: CSV, Parquet (long: context, arm, mean; or wide), npz or npy.",
)


def output_options(picture: str) -> Callable[[Command], Command]:
    """Give a command its seed, and the forms in which it shows its result."""
    return stack(
        click.option(
            "--seed", default=0, show_default=True, help="The same seed gives the same run."
        ),
        click.option(
            "--json", "as_json", is_flag=True, help="Print one JSON object, policy included."
        ),
        click.option(
            "--png",
            type=click.Path(path_type=Path),
            metavar="FOLDER",
            help=f"Write {picture} there.",
        ),
        click.option(
            "--html",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Write the picture as a page.",
        ),
    )


COLUMNS = {
    "user": "column with the user.",
    "item": "column with the chosen item.",
    "reward": "column with the reward.",
    "time": "column of times; if events with one id disagree, the earliest counts.",
    "id": "column of event ids; a repeated event counts once.",
    "propensity": "column with the probability of the chosen item.",
    "rewarded": "column of times of rewards; none may come before its --time.",
}
"""Roles that a column of a log may have, each an option of this name."""
NEEDED = ("user", "item", "reward")
"""Roles that every log has: such a column is called as its role unless another name is given."""


def column_options(of: str = "", *, filled: bool = True) -> Callable[[Command], Command]:
    """Give a command the columns of a log; the words `of` say which log, where that is not plain.

    With `filled=False` a column that is not named is None: the command knows it from elsewhere.
    """

    def option(role: str, words: str) -> Callable[[Command], Command]:
        help, default = (of + words)[0].upper() + (of + words)[1:], None
        if role in NEEDED and filled:
            default = role
        elif role in NEEDED:
            help = default_is(help, role)
        return click.option(
            f"--{role}", default=default, show_default=True, metavar="NAME", help=help
        )

    return stack(*(option(role, words) for role, words in COLUMNS.items()))


def default_is(help: str, words: str) -> str:
    """Return the help of an option whose default another place fills in, as click writes it.

    >>> default_is("How many at a time.", "all cores")
    'How many at a time.  [default: all cores]'
    """
    return f"{help}  [default: {words}]"


memory_option = click.option(
    "--memory", metavar="SIZE", help="Memory limit for reading, such as 4GB."
)
strict_option = click.option(
    "--strict", is_flag=True, help="Refuse a log with rows that cannot count."
)


def rewards_option(*, filled: bool = True) -> Callable[[Command], Command]:
    """Give a command the option that says which rewards are accepted; not `filled`: None."""
    help = "Accepted rewards: any, binary, or a range such as 0:5."

    def read(ctx: click.Context, option: click.Parameter, text: str | None) -> Any:
        return None if text is None else parse_rewards(text)

    return click.option(
        "--rewards",
        callback=read,
        default="any" if filled else None,
        show_default=True,
        help=help if filled else default_is(help, "any"),
    )


def parse_rewards(text: str) -> str | tuple[float, float]:
    """Read which rewards are accepted; the ends of a range may also stand beside a comma.

    >>> parse_rewards("0:5"), parse_rewards("-1,1"), parse_rewards("binary")
    ((0.0, 5.0), (-1.0, 1.0), 'binary')
    """
    low, between, high = text.partition(":" if ":" in text else ",")
    if not between:
        return text
    try:
        return float(low), float(high)
    except ValueError:
        raise BadArgument("--rewards", "any, binary or a range such as 0:5", repr(text)) from None


def rounds(text: str) -> int:
    """Read a number of rounds; 1e13 will do.

    >>> rounds("2.5e13")
    25000000000000
    """
    digits = text.replace("_", "").replace(",", "")
    try:
        number = int(digits) if digits.isdecimal() else float(digits)
        if 1 <= number <= MOST_ROUNDS and number == int(number):
            return int(number)
    except (ValueError, OverflowError):
        pass  # the same words for everything else
    raise click.BadParameter(f"expected a whole number from 1 to 9.22e18, got {text!r}")


horizon_option = click.option(
    "--horizon",
    type=rounds,
    metavar="ROUNDS",
    default="1e13",
    show_default=True,
    help="T, how many rounds are played.",
)
