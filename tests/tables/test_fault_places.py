"""Places of faults in CSV files, against lines that are counted while they are written."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest

from lumpable import read_events
from lumpable.tables import faults_found

UNREADABLE, NO_NUMBER, NO_USER = "row cannot be read", "reward is no number", "user is missing"


class Written:
    """A CSV file made row by row, and the lines on which its faults stand."""

    def __init__(self, end: str, delimiter: str) -> None:
        self.end, self.delimiter, self.text, self.line = end, delimiter, "", 1
        self.at: dict[str, list[int]] = {UNREADABLE: [], NO_NUMBER: [], NO_USER: []}

    def row(self, *fields: str, fault: str = "") -> None:
        """Write a row; a field may have line ends within."""
        if fault:
            self.at[fault].append(self.line)
        row = self.delimiter.join(fields) + self.end
        self.text, self.line = self.text + row, self.line + row.count(self.end)

    @property
    def faults(self) -> dict[str, tuple[int, tuple[str, ...]]]:
        """How many rows have a fault, and the first three places."""
        return {
            fault: (len(lines), tuple(f"line {line:,}" for line in lines[:3]))
            for fault, lines in self.at.items()
            if lines
        }


def written(seed: int, end: str) -> Written:
    """Return a file with blank lines, rows that cannot be read and rows that cannot count."""
    luck = random.Random(seed)
    log = Written(end, luck.choice(",;\t"))
    log.row("user", "item", "reward")
    for _ in range(luck.randint(1, 60)):
        match luck.randrange(9):
            case 0 | 1:
                log.row("")
            case 2 | 3:
                log.row("a", "b", fault=UNREADABLE)
            case 4:
                log.row("a", "b", "zz", fault=NO_NUMBER)
            case 5:
                log.row("", "b", "1", fault=NO_USER)
            case 6:
                log.row(f'"a{end}{end}x"', "b", "1")
            case _:
                log.row("a", "b", "1")
    log.row("a", "b", "1")
    return log


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_faults_are_found_on_their_lines(
    end: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults_found, "BLOCK", block)
    for seed in range(25):
        log = written(seed, end)
        made = log.text.encode("utf-8-sig" if seed % 5 == 0 else "utf-8")
        path = tmp_path / ("log.csv.gz" if seed % 3 == 0 else "log.csv")
        path.write_bytes(gzip.compress(made) if seed % 3 == 0 else made)
        found = read_events(path).dirt.faults
        assert {one.fault: (one.rows, one.places) for one in found} == log.faults, seed
        assert {one.example for one in found if one.fault == UNREADABLE} <= {f"a{log.delimiter}b"}
