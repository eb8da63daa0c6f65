"""The commands `lumpable sql ..`: queries for the engine that holds the events. Run nothing."""

from __future__ import annotations

from typing import Any

import click

from lumpable.base.errors import BadArgument
from lumpable.cli.options import column_options, rewards_option, stack
from lumpable.lumps.use.rewards import Accepted
from lumpable.tables.cleaning import Columns
from lumpable.tables.engine_queries import DIALECTS, EngineTable

table_options = stack(
    click.option(
        "--dialect",
        type=click.Choice(DIALECTS),
        required=True,
        metavar="NAME",
        help=f"Whose SQL to write: {', '.join(DIALECTS)}.",
    ),
    click.option(
        "--table",
        default="events",
        show_default=True,
        help='The table of events, such as events, sales.events or sales."my.events".',
    ),
    column_options(),
    rewards_option(),
    click.option("--boolean", is_flag=True, help="The rewards are true and false, not numbers."),
    click.option("--shard", metavar="K/N", help="Only users in shard K of N (K from 0)."),
)


@click.command("evidence")
@table_options
def evidence(**given: Any) -> None:
    """Print the query of evidence: who had what, what came of it, and how often.

    Its columns are user, item, reward (in millionths), times and, with --propensity, propensity.

    \b
    Examples:
      lumpable sql evidence --dialect spark --table events --user customer \\
        --item offer --reward clicked --boolean
      lumpable sql evidence --dialect duckdb --table events --shard 0/16
    """
    click.echo(_table_options(**given).evidence(), nl=False)


@click.command("faults")
@table_options
def faults(**given: Any) -> None:
    """Print the query of what evidence leaves out: each fault, its rows, first and last time.

    The fault of rows that count is "none".

    \b
    Example:
      lumpable sql faults --dialect trino --table hive.sales.events --propensity p
    """
    click.echo(_table_options(**given).faults(), nl=False)


def _table_options(
    dialect: str, table: str, rewards: Any, boolean: bool, shard: str | None, **columns: Any
) -> EngineTable:
    accepted = Accepted.of(rewards)
    return EngineTable(dialect, table, Columns(**columns), accepted, boolean, _shard(shard))


def _shard(text: str | None) -> tuple[int, int] | None:
    """Read which shard is meant.

    >>> _shard("3/16"), _shard(None)
    ((3, 16), None)
    """
    if text is None:
        return None
    number, slash, shards = text.partition("/")
    if not (slash and number.isdecimal() and shards.isdecimal()):
        raise BadArgument("--shard", "K/N, such as 0/16", repr(text))
    return int(number), int(shards)
