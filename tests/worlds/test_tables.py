"""Matrices of means from files: long and wide tables, npz and npy; round trips and refusals."""

from __future__ import annotations

import json
import tracemalloc
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import lumpable as lb
from lumpable import worlds
from lumpable.worlds import matrices, tabular

MEAN = np.array([[0.1, 0.9, 0.5], [0.8, 0.2, 0.3]])
CONTEXTS, ARMS = ("ann", "bob"), ("x", "y", "z")
WIDE = pl.DataFrame({"user": CONTEXTS} | {arm: MEAN[:, j] for j, arm in enumerate(ARMS)})


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_wide_table(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"means{suffix}"
    WIDE.write_csv(path) if suffix == ".csv" else WIDE.write_parquet(path)
    world = worlds.read(path, noise="bernoulli")
    assert np.array_equal(world.mean, MEAN)
    assert (world.context_names, world.arm_names) == (CONTEXTS, ARMS)
    assert world.name == "table"


def test_a_column_named_context_may_begin_a_wide_table(tmp_path: Path) -> None:
    path = tmp_path / "means.csv"
    path.write_text("context,x,y\nann,0.5,0.25\n")
    assert worlds.read(path).mean.tolist() == [[0.5, 0.25]]


# --- Names or an arm first -------------------------------------------------------------------


def indexed(path: Path, index: Any, columns: tuple[str, ...] = (*ARMS, "user")) -> None:
    """Write a table as pandas does: the index last, and what it is in the schema."""
    held = dict(zip(ARMS, MEAN.T, strict=True)) | {"user": CONTEXTS}
    said = index if isinstance(index, bytes) else json.dumps({"index_columns": index}).encode()
    table = pa.table({name: held[name] for name in columns})
    parquet.write_table(table.replace_schema_metadata({b"pandas": said}), path)


def test_an_index_of_pandas_holds_the_names(tmp_path: Path) -> None:
    path = tmp_path / "means.parquet"
    indexed(path, ["user"])
    world = worlds.read(path)
    assert np.array_equal(world.mean, MEAN)
    assert (world.context_names, world.arm_names) == (CONTEXTS, ARMS)


def test_pandas_itself_writes_what_is_read(tmp_path: Path) -> None:
    path, frame = tmp_path / "means.parquet", WIDE.to_pandas()
    for wide in (frame, frame.set_index("user"), frame.set_index("user").rename_axis(None)):
        wide.to_parquet(path)
        world = worlds.read(path)
        assert np.array_equal(world.mean, MEAN)
        assert (world.context_names, world.arm_names) == (CONTEXTS, ARMS)
    pandas.DataFrame(MEAN, columns=["0", "1", "2"]).to_parquet(path)
    assert worlds.read(path).mean.tolist() == MEAN.tolist()


@pytest.mark.parametrize("index", [[{"kind": "range"}], [], ["gone"], 3, b"[", b"[" * 10**5])
def test_notes_of_an_index_that_is_not_there_change_nothing(tmp_path: Path, index: Any) -> None:
    path = tmp_path / "means.parquet"
    indexed(path, index, ("user", *ARMS))
    assert worlds.read(path).context_names == CONTEXTS


def test_an_index_of_two_levels_is_refused(tmp_path: Path) -> None:
    indexed(tmp_path / "means.parquet", ["user", "x"])
    with pytest.raises(lb.BadArgument, match="one column of names of contexts, got an index of"):
        worlds.read(tmp_path / "means.parquet")


BOTH = [".csv", ".parquet"]


def written(folder: Path, suffix: str, heads: Sequence[str], matrix: Any) -> Path:
    """Write columns with these heads, and nothing else."""
    frame = pl.DataFrame(dict(zip(heads, matrix, strict=True)))
    path = folder / f"means{suffix}"
    frame.write_csv(path) if suffix == ".csv" else frame.write_parquet(path)
    return path


@pytest.mark.parametrize("suffix", BOTH)
@pytest.mark.parametrize(
    ("heads", "first"),
    [("012", [0.25, 0.5, 0.75]), ("012", [1, 1, 0]), ("xyz", [0.25, 0.5, 1.0]),
     (("arm8", "arm9", "arm10"), [1.0, 1.0, 0.0])],
)  # fmt: skip
def test_numbers_without_names_are_all_means(
    tmp_path: Path, suffix: str, heads: Sequence[str], first: list[float]
) -> None:
    matrix = [first, [0.5, 0.5, 0.25], [1.0, 0.25, 0.5]]
    world = worlds.read(written(tmp_path, suffix, heads, matrix))
    assert world.mean.T.tolist() == matrix
    assert (world.context_names, world.arm_names) == ((), tuple(heads))


@pytest.mark.parametrize("suffix", BOTH)
@pytest.mark.parametrize(
    ("heads", "first"),
    [(("user", "0", "1"), [0, 1, 2]), (("user", "x", "y"), [17, 3, 5]), ("012", ["a", "b", "c"]),
     (("0", "2", "4"), [17, 3, 5]), (("", "x", "y"), [0.5, 1.5, 2.5]),
     (("context", "x", "y"), [0.5, 1.5, 2.5])],
)  # fmt: skip
def test_names_come_first(
    tmp_path: Path, suffix: str, heads: Sequence[str], first: list[Any]
) -> None:
    matrix = [first, [0.5, 0.5, 0.25], [1.0, 0.25, 0.5]]
    world = worlds.read(written(tmp_path, suffix, heads, matrix))
    assert world.mean.T.tolist() == matrix[1:]
    assert [str(name) for name in world.context_names] == list(map(str, first))


@pytest.mark.parametrize("suffix", BOTH)
def test_what_may_be_names_or_means_is_refused(tmp_path: Path, suffix: str) -> None:
    path = written(tmp_path, suffix, "012", [[17, 3, 5], [0.5, 0.5, 0.25], [1.0, 0.25, 0.5]])
    words = "path: expected names of contexts under a head unlike .* got '0' beside '1', above"
    with pytest.raises(lb.BadArgument, match=words):
        worlds.read(path)


# --- Arrays ----------------------------------------------------------------------------------


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_an_npz_file_with_names(tmp_path: Path, save: Any) -> None:
    save(tmp_path / "means.npz", mean=MEAN, contexts=np.array(CONTEXTS), arms=np.array(ARMS))
    world = worlds.read(tmp_path / "means.npz")
    assert np.array_equal(world.mean, MEAN)
    assert (world.context_names, world.arm_names) == (CONTEXTS, ARMS)


def test_a_single_array(tmp_path: Path) -> None:
    np.savez(tmp_path / "one.npz", MEAN)
    np.save(tmp_path / "one.npy", MEAN)
    np.save(tmp_path / "whole.npy", np.array([[0, 1], [1, 0]]))
    np.save(tmp_path / "fortran.npy", np.asfortranarray(MEAN))
    for name in ("one.npz", "one.npy", "fortran.npy"):
        world = worlds.read(tmp_path / name, sd=0.3)
        assert np.array_equal(world.mean, MEAN)
        assert (world.context_names, world.arm_names, world.sd) == ((), (), 0.3)
    assert worlds.read(tmp_path / "whole.npy").mean.tolist() == [[0, 1], [1, 0]]


def test_a_table_of_an_experiment_may_be_of_any_kind(tmp_path: Path) -> None:
    np.save(tmp_path / "means.npy", MEAN)
    WIDE.write_csv(tmp_path / "means.csv")
    described = [
        {"kind": "table", "path": str(tmp_path / f"means.{end}")} for end in ("npy", "csv")
    ]
    found = lb.compare("ucb", described, horizon=50, seeds=1, jobs=1)
    assert found.cells == {"done": 2}
    regret = [row.regret for row in found.rows() if row.round == 50]
    assert regret[0] == regret[1]


class Trap:
    """Makes a file where it is unpickled."""

    def __reduce__(self) -> Any:
        return (Path.touch, (Path("trap"),))


def test_nothing_is_unpickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    array = np.array([[Trap()]], dtype=object)
    np.save("trap.npy", array, allow_pickle=True)
    np.savez("trap.npz", mean=MEAN, arms=array)
    for name in ("trap.npy", "trap.npz"):
        with pytest.raises(lb.BadArgument, match="is not a file of plain numpy arrays: Object"):
            worlds.read(name)
    assert not Path("trap").exists()


def text(words: str) -> Any:
    return lambda path: path.write_text(words)


def arrays(**held: Any) -> Any:
    return lambda path: np.savez(path, **held)


BAD: dict[str, tuple[Any, str]] = {
    "neither.csv": (text("user,item,value\nann,tea,0.5\n"), "columns context, arm, mean, or names"),
    "half.csv": (text("context,mean\nann,0.5\n"), r"or names .* got \['context', 'mean'\]"),
    "twice.csv": (text("user,x,x\nann,0.5,0.5\n"), r"or names .* got \['user', 'x', 'x'\]"),
    "alone.csv": (text("user\nann\n"), r"or names .* got \['user'\]"),
    "none.csv": (text("user,x\n"), "rows: expected at least one context, got none"),
    "again.csv": (text("user,x\na,0.5\na,0.5\n"), "expected each context once, got 'a' twice"),
    "ragged.csv": (text("user,x,y\na,0.5\n"), "a mean for each of 2 arms, got 1 for context 'a'"),
    "hole.csv": (text("user,x,y\na,0.5,\n"), r"every pair, got none for \('a', 'y'\)"),
    "two.npz": (arrays(a=MEAN, b=MEAN), r"an array 'mean', or a single one, got \['a', 'b'"),
    "flat.npz": (arrays(mean=MEAN[0]), r"expected a \(contexts, arms\) array of numbers, got an"),
    "text.npz": (arrays(mean=np.array([["a"]])), r"a \(contexts, arms\) array of numbers, got"),
    "names.npz": (arrays(mean=MEAN, arms=np.array(["x", "y", "y"])), "3 different names in 'arms'"),
    "few.npz": (arrays(mean=MEAN, contexts=np.array(["x"])), "2 different names in 'contexts'"),
    "broken.npz": (text("PK no"), "is not a file of plain numpy arrays"),
    "broken.npy": (text("no"), "is not a file of plain numpy arrays"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_named(tmp_path: Path, name: str) -> None:
    make, words = BAD[name]
    make(tmp_path / name)
    with pytest.raises(lb.BadArgument, match=words):
        worlds.read(tmp_path / name)


def peak_of_refusal(path: Path, words: str) -> int:
    """Return the most memory that reading took until it was refused."""
    tracemalloc.start()
    try:
        with pytest.raises(lb.BadArgument, match=words):
            worlds.read(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


MEGABYTES = 50 * 2**20


def test_a_small_parquet_file_of_many_rows_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its footer says how many there are, before they take 200 times as much memory."""
    monkeypatch.setattr(tabular, "MOST_ROWS", 100_000)
    path, rows = tmp_path / "many.parquet", 200_000
    same = {name: pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), [name])
            for name in ("context", "arm")}  # fmt: skip
    parquet.write_table(pa.table({**same, "mean": np.zeros(rows)}), path)
    assert path.stat().st_size < 2**17
    before = pa.total_allocated_bytes()
    words = r"path: expected a table of at most 1e5 rows .* got 2e5"
    assert peak_of_refusal(path, words) < 2**20
    assert pa.total_allocated_bytes() <= before + 2**20


def test_a_small_csv_file_of_a_large_matrix_is_refused_before_it_is_made(tmp_path: Path) -> None:
    """A diagonal names as many contexts and arms as it has rows: 1e8 cells for 1e4 rows."""
    path = tmp_path / "diagonal.csv"
    path.write_text("context,arm,mean\n" + "".join(f"{i},{i},0.5\n" for i in range(10_000)))
    assert peak_of_refusal(path, "a mean for every pair, got none for") < MEGABYTES


def test_a_header_that_promises_too_much_is_refused(tmp_path: Path) -> None:
    large, lying = tmp_path / "large.npz", tmp_path / "lying.npy"
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (%d, 100000), }"
    for path, rows in ((large, 10**6), (lying, 10)):
        words = header % rows
        words += b" " * (63 - (10 + len(words)) % 64) + b"\n"
        whole = b"\x93NUMPY\x01\x00" + len(words).to_bytes(2, "little") + words
        if path is lying:
            path.write_bytes(whole)
        else:
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("mean.npy", whole)
    assert peak_of_refusal(large, "at most 5e7 cells, got 1e11 in 'mean'") < MEGABYTES
    assert peak_of_refusal(lying, r"expected 8e6 bytes in 'lying.npy', got") < MEGABYTES


def test_wide_tables_have_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    WIDE.write_csv(tmp_path / "means.csv")
    WIDE.write_parquet(tmp_path / "means.parquet")
    (tmp_path / "old.csv").write_text(WIDE.write_csv().replace("\n", "\r"), newline="")
    for most, words in (("MOST_CELLS", "5 cells, got"), ("MOST_ROWS", "1 rows .* got")):
        with monkeypatch.context() as patch:
            patch.setattr(tabular if most == "MOST_ROWS" else matrices, most, int(words[0]))
            for name in ("means.csv", "means.parquet", "old.csv"):
                with pytest.raises(lb.BadArgument, match=f"a table of at most {words}"):
                    worlds.read(tmp_path / name)


def test_small_numbers_count_as_the_cells_that_they_become(tmp_path: Path) -> None:
    """A file of 60 kB that held a matrix of int8 took half a gigabyte for each copy of it."""
    path = tmp_path / "small.npz"
    np.savez_compressed(path, mean=np.zeros((6000, 10_000), dtype=np.int8))
    assert path.stat().st_size < 2**17
    assert peak_of_refusal(path, "at most 5e7 cells, got 6e7 in 'mean'") < MEGABYTES
    names = tmp_path / "names.npz"
    np.savez_compressed(names, mean=MEAN, contexts=np.array(["a" * 10**7, *"bcdefghijkl"]))
    assert peak_of_refusal(names, "at most 4e8 bytes, got 4.8e8 in 'contexts'") < MEGABYTES


def test_a_csv_file_may_begin_with_a_mark(tmp_path: Path) -> None:
    """As those that spreadsheets write."""
    for name, text in (
        ("long", "context,arm,mean\nann,x,0.5\nann,y,0.25\n"),
        ("wide", "context,x,y\nann,0.5,0.25\n"),
    ):
        path = tmp_path / f"{name}.csv"
        path.write_text(text, encoding="utf-8-sig")
        world = worlds.read(path)
        assert (world.mean.tolist(), world.context_names) == ([[0.5, 0.25]], ("ann",))


@pytest.mark.parametrize("matrix", [MEAN, np.eye(3), MEAN.round(1).tolist()])
def test_a_file_without_heads_is_refused(tmp_path: Path, matrix: Any) -> None:
    """Its first context would become the names of arms."""
    path = tmp_path / "means.csv"
    np.savetxt(path, matrix, delimiter=",")
    with pytest.raises(lb.BadArgument, match=r"in the first line .write the matrix as npy"):
        worlds.read(path)
    path.write_text("".join(",".join(map(str, row)) + "\n" for row in np.asarray(matrix)))
    with pytest.raises(lb.BadArgument, match="names of arms in the first line"):
        worlds.read(path)
