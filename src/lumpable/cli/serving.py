"""`lumpable serve FILE`: an experiment over HTTP, until it is stopped."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec

from lumpable.base.errors import BadArgument
from lumpable.base.extras import has
from lumpable.base.version import __version__
from lumpable.cli import outputs, unset
from lumpable.cli.learned_paths import open_learned
from lumpable.cli.options import COLUMNS, column_options, default_is, rewards_option
from lumpable.cli.show import say
from lumpable.http import installed
from lumpable.service.fits_beside import child_environment
from lumpable.service.live_experiment import LiveExperiment
from lumpable.service.opening import MEMORY
from lumpable.service.opening import open as open_experiment
from lumpable.stores.law import StoreError
from lumpable.stores.postgres_database import is_address, place_of

PAGE_NEEDS = ("altair", "vl_convert", "jinja2")
"""Of the extra `plot`."""


def learner_from_options(learner: str | None, options: tuple[str, ...]) -> dict[str, Any] | None:
    """Put the name of a learner and its options together; values are read as JSON, or as text."""
    if learner is None:
        if options:
            raise click.UsageError("--learner-option needs --learner")
        return None
    found: dict[str, Any] = {"kind": learner}
    for option in options:
        name, equals, value = option.partition("=")
        if not name or not equals or name in found:
            expected = "NAME=VALUE, each name once"
            raise click.UsageError(f"--learner-option: expected {expected}, got {option!r}")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


@click.command()
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--arm", "arms", multiple=True, help="An arm (a string); repeat for more.")
@rewards_option(filled=False)
@click.option("--window", type=unset.FLOAT, help="Seconds after a decision in which rewards count.")
@click.option(
    "--default", type=unset.FLOAT, help="The reward assumed when none arrived in the window."
)
@click.option(
    "--repeated",
    type=click.Choice(["first", "last", "sum"]),
    help=default_is("Which reward counts if an event gets several.", "first"),
)
@click.option(
    "--mode",
    type=click.Choice(["serve", "shadow", "observe"]),
    help=default_is(
        "serve: the learner decides; shadow: all see --control; observe: learn from decisions made "
        "elsewhere.",
        "serve",
    ),
)
@click.option("--hold-back", type=float, help="Share of decisions withheld from the learner.")
@click.option("--control", type=unset.TEXT, help="The arm shown in held-back and shadow decisions.")
@click.option("--at-most", type=unset.INTEGER, help="How often an arm may be shown to one user.")
@click.option("--new-arms/--no-new-arms", default=None, help="Let requests introduce new arms.")
@click.option(
    "--floor",
    type=float,
    help="The least probability of each allowed arm, where nothing is held back.",
)
@click.option("--seed", type=int, help="Random seed.")
@click.option(
    "--learner", metavar="NAME", help=default_is("A learner or a plan, by its name.", "lumps")
)
@click.option(
    "--learner-option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="An option of the learner; repeat for more.",
)
@click.option(
    "--learned",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Begin with what was learned: a state, a log, or a saved learner (.lumps).",
)
@column_options("in a --learned log: ", filled=False)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; other than localhost needs --tokens.",
)
@click.option(
    "--port",
    default=8000,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port; 0 picks a free one.",
)
@click.option(
    "--allow-host",
    "names",
    multiple=True,
    metavar="NAME",
    help="A name by which others call this service; repeat for more.",
)
@click.option(
    "--tokens",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file with lines of roles and a token; or use LUMPABLE_TOKENS.",
)
@click.option(
    "--user-feature",
    default="user",
    show_default=True,
    help="The context feature that names the user in Personalizer's rank.",
)
@click.option("--log-all", is_flag=True, help="Log every request, not only refused ones.")
@click.option("--until-stdin-ends", is_flag=True, hidden=True)
def serve(
    file: str, arms: tuple[str, ...], host: str, port: int, names: tuple[str, ...],
    tokens: Path | None, user_feature: str, log_all: bool, options: tuple[str, ...],
    until_stdin_ends: bool, **given: Any,
) -> None:  # fmt: skip
    """Serve decisions over HTTP, from an experiment in FILE.

    Begins the experiment, or goes on with it. Options that are not given keep their earlier values;
    `none` clears --control or --at-most. Decisions and rewards are in the file before they are
    answered. Stops gracefully at SIGTERM and Ctrl-C.

    FILE may be the address of a PostgreSQL database: then several services share the experiment.

    \b
    Tokens are lines of roles and a token, in a file or in the environment:
      decide,reward 0v3-Qx7R...
      read          Jm1_k2Wd...
      admin         tT9-4bLz...

    \b
    Examples:
      lumpable serve clicks.db --arm red --arm green --rewards binary
      lumpable serve clicks.db --learned state/
      lumpable serve clicks.db --learned events.csv --user customer --item offer
      lumpable serve clicks.db --learned offers.lumps
      lumpable serve postgresql://db.example/shop --port 8001
      lumpable serve clicks.db --arm red --arm green \\
        --learner ucb --learner-option width=0.3
      lumpable serve clicks.db --host 0.0.0.0 --tokens tokens.txt \\
        --allow-host shop.example
    """
    installed.check()
    from lumpable.http.http_server import Address, HttpServer, quiet_warnings
    from lumpable.http.json_logs import Log
    from lumpable.http.life import may_write
    from lumpable.http.page_files import PageFiles
    from lumpable.http.tokens import ENVIRONMENT, Tokens

    found = Tokens.load(tokens, os.environ.get(ENVIRONMENT))
    address, log = Address(host, port, names, found), Log(all_requests=log_all)
    given["learner"] = learner_from_options(given["learner"], options)
    columns = {name: column for name in COLUMNS if (column := given.pop(name)) is not None}
    settings = unset.given_options(given)
    if not is_address(file):
        outputs.check({"FILE": Path(file)}, read=[settings.get("learned"), tokens])
    if "learned" in settings:
        settings["learned"] = open_learned(settings["learned"], **columns)
    elif columns:
        raise click.UsageError(f"--{min(columns)} is a column of a log: it needs --learned")

    def opened() -> LiveExperiment:
        experiment = open_experiment(file, arms, **settings)
        for line in (*serves(), *missing(experiment, file)):
            say(line)
        return experiment

    def serves() -> list[str]:
        """Say what is true only now: a wrong setting or file is refused before it."""
        where_to_look = (
            "  no page: it needs the extra plot (pip install 'lumpable[plot]')"
            if page is None
            else f"  open {server.url} in a browser to see what is going on"
        )
        lines = [
            f"lumpable {__version__} serves {place_of(file)} at {server.url}",
            where_to_look,
            f"  API: {server.url}/openapi.json; how it is: {server.url}/status; Ctrl-C stops it",
        ]
        if not found:
            lines.append("  no tokens: whoever is on this machine may call it (see --tokens)")
        return lines

    def ready(experiment: LiveExperiment) -> None:
        experiment.warm()
        no_long_collections()

    def writable() -> bool:
        return file == MEMORY or is_address(file) or may_write(Path(file))

    if until_stdin_ends:
        threading.Thread(target=end_with_stdin, daemon=True).start()
    quiet_warnings(log)
    page = PageFiles(partial(page_files, Path(file).name)) if has(*PAGE_NEEDS) else None
    server = HttpServer(opened, address, log=log, user_feature=user_feature, page=page,
                        warmer=ready, may_write=writable)  # fmt: skip
    try:
        server.run()
    except StoreError as error:
        raise BadArgument("file", why=str(error)) from error
    finally:
        server.leave()
        gc.unfreeze()  # what is frozen is not freed at the end, and libraries call that a leak


def end_with_stdin() -> None:
    """Stop gracefully when stdin ends, as it does with a parent, however that one ended."""
    while os.read(sys.stdin.fileno(), 1_024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def no_long_collections() -> None:
    """Let the collector of cycles look no more at what is there now: modules and compiled code.

    It would go through all of it again and again, while everybody waits for a tenth of a second.
    """
    gc.collect()
    gc.freeze()


def page_files(title: str) -> dict[str, tuple[str, bytes]]:
    """Return the page of `/`, made by a child: else it would stop all callers for seconds.

    Who bundles the script that draws holds Python's lock meanwhile. (-P: no module is taken from
    the current directory.)
    """
    command = [sys.executable, "-P", "-c", f"from {__name__} import send_page; send_page()", title]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=child_environment(),
        start_new_session=True,  # Ctrl-C is for the service
    ) as child:  # fmt: skip
        assert child.stdout is not None
        made = child.stdout.read()
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, "the page")
    return msgspec.msgpack.decode(made, type=dict[str, tuple[str, bytes]])


def send_page() -> None:
    """Make the page and write it to the parent: the child's whole life, which ends with that one's.

    Nothing is ever sent to it: its stdin ends when the parent does, in whatever way.
    """

    def end() -> None:
        os.read(sys.stdin.fileno(), 1)
        os._exit(1)

    threading.Thread(target=end, daemon=True).start()
    from lumpable.reports.pages import live_page

    sys.stdout.buffer.write(msgspec.msgpack.encode(live_page.files(sys.argv[1])))


def missing(experiment: LiveExperiment, file: str) -> list[str]:
    """Return what somebody may have forgotten to say."""
    settings, lines = experiment.settings, []
    if file == MEMORY:
        lines.append("in memory: all is lost when it stops (name a file)")
    if not experiment.status().arms and not settings.new_arms:
        lines.append("no arms yet: nothing can be decided (--arm, or POST /arms/add)")
    if settings.window is None:
        lines.append("no window: decisions wait for their rewards for ever (--window, --default)")
    elif settings.default is None:
        lines.append("no default: what had no reward in the window tells nothing (--default)")
    if not settings.hold_back and settings.mode == "serve":
        lines.append("nothing held back: nobody will see what this is worth (--hold-back 0.05)")
    return [f"  {line}" for line in lines]
