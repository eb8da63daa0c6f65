"""A save never replaces what somebody else saved; what cannot be read says why."""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import Any

import pytest

from lumpable import Lumps, PolicyFinder

KINDS: list[type[Any]] = [Lumps, PolicyFinder]


@pytest.mark.parametrize("kind", KINDS)
def test_two_that_loaded_one_file_do_not_lose_each_others_rewards(
    kind: type[Any], tmp_path: Path
) -> None:
    path = tmp_path / "state"
    kind(["red"]).save(path)
    one, two = kind.load(path), kind.load(path)
    one.tell("ann", "red", 1.0)
    two.tell("bob", "red", 1.0)
    one.save(path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="was changed since this learner loaded or saved it"):
        two.save(path)
    assert path.read_bytes() == before
    one.tell("ann", "red", 0.0)
    one.save(str(path))  # its own file, by another spelling of the path
    with pytest.raises(ValueError, match="was changed"):
        two.save(path)
    two.save(tmp_path / "other")
    two.save(path, overwrite=True)
    two.save(path)
    assert kind.load(path).contexts == ("bob",)
    with pytest.raises(ValueError, match="was changed"):
        one.save(path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_learner_does_not_replace_a_file(kind: type[Any], tmp_path: Path) -> None:
    path = tmp_path / "state"
    path.write_text("a letter")
    with pytest.raises(ValueError, match="exists, and this learner neither loaded nor saved it"):
        kind(["red"]).save(path)
    assert path.read_text() == "a letter"
    learner = kind(["red"])
    learner.save(path, overwrite=True)
    path.unlink()
    learner.save(path)  # nothing is lost where nothing is
    assert kind.load(path).arms == ("red",)


def test_copies_know_the_file_too_and_the_first_to_save_wins(tmp_path: Path) -> None:
    lumps, path = Lumps(["red"]), tmp_path / "state"
    lumps.save(path)
    twin = copy.deepcopy(lumps)
    twin.save(path)
    with pytest.raises(ValueError, match="was changed"):
        lumps.save(path)


def test_a_link_is_the_file_behind_it(tmp_path: Path) -> None:
    lumps, path, link = Lumps(["red"]), tmp_path / "state", tmp_path / "link"
    lumps.save(path)
    link.symlink_to(path)
    lumps.save(link)
    Lumps.load(link).save(path)
    with pytest.raises(ValueError, match="was changed"):
        lumps.save(link)


def test_a_save_that_fails_forgets_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupted before or after the new file is in its place, the next save works."""
    lumps, path = Lumps(["red"]), tmp_path / "state"
    lumps.save(path)
    replace = os.replace

    def before(*_: Any) -> None:
        raise KeyboardInterrupt

    def after(*places: Any) -> None:
        replace(*places)
        raise KeyboardInterrupt

    for cut_off in (before, after):
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", cut_off)
            with pytest.raises(KeyboardInterrupt):
                lumps.save(path)
        lumps.tell("ann", "red", 1.0)
        lumps.save(path)
    assert Lumps.load(path).core.tells == 2


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_there_or_is_no_file(
    kind: type[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(FileNotFoundError, match=r"no such file: '.*nothing'"):
        kind.load(tmp_path / "nothing")
    with pytest.raises(ValueError, match="path: expected a saved learner, got the folder '"):
        kind.load(tmp_path)
    (tmp_path / "text").write_text("hello")
    with pytest.raises(ValueError, match="damaged, or not a saved file"):
        kind.load(tmp_path / "text")

    def closed(*_: Any, **__: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", closed)  # root may read everything
    with pytest.raises(PermissionError, match=r"cannot read '.*text': Permission denied"):
        kind.load(tmp_path / "text")
