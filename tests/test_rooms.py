"""The rooms of the package and their doors: who may know whom, read off every import.

No import is exempt: those inside functions and those for type checkers count as well.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import NamedTuple

import pytest

import lumpable as lb

PACKAGE = Path(lb.__file__).parent

BELOW = {
    "base": set[str](),
    "worlds": {"base"},
    "plans": {"base"},
    "learners": {"base"},
    "runs": {"plans", "worlds", "base"},
    "lumps": {"learners", "base"},
    "live": {"lumps", "plans", "base"},
    "stores": {"base"},
    "service": {"stores", "live", "lumps", "learners", "plans", "base"},
    "http": {"service", "stores", "lumps", "base"},
    "playground": {"worlds", "client", "base"},
    "tables": {"lumps", "learners", "stores", "base"},
    "nightly": {"tables", "service", "stores", "live", "lumps", "base"},
}
"""What a room may know besides itself; `client` is a file that stands alone."""
BELOW["comparisons"] = {*BELOW}
BELOW["reports"] = {*BELOW}
BELOW["reproduce"] = {*BELOW}
BELOW["cli"] = {*BELOW, "client"}

FACE = {"reproduce"}
"""Rooms that use the package as its users do, `import lumpable as lb`."""

UPWARD = {
    ("runs.run", "Run.plot", "reports"),
    ("comparisons.comparison", "Comparison.report", "reports"),
    ("comparisons.comparison", "Comparison._repr_html_", "reports"),
    ("lumps.use.believing", "BelievingLearner.report", "reports"),
    ("tables.learned", "Learned.report", "reports"),
    ("service.learned_entries", "evidence_in", "tables"),
}
"""The six calls that go up, for the convenience of whoever holds the value."""

OUTSIDE = {
    "numba": {"runs", "learners", "lumps"},
    "llvmlite": {"learners"},
    "click": {"cli"},
    "rich": {"cli"},
    "altair": {"reports", "runs"},  # runs: for the type of what `Run.plot` returns
    "vl_convert": {"reports"},
    "jinja2": {"reports"},
    "pyarrow": {"base", "worlds", "comparisons", "service", "tables"},
    "sqlite3": {"stores"},
    "psycopg": {"stores"},
    "duckdb": {"tables"},
    "scipy": {"comparisons", "reproduce"},
    "starlette": {"http"},
    "uvicorn": {"http"},
}
"""Which rooms may import a library that is heavy, optional, or for one purpose."""

IMPURE = {"time", "datetime", "random", "secrets", "os", "io", "pathlib", "logging", "tempfile"}
"""What no plan may import: luck, clocks, files."""


class Import(NamedTuple):
    """One import of one module."""

    module: str
    imports: str
    line: int
    function: str
    """The function that it stands in, by its qualified name; empty: none."""

    @property
    def call(self) -> tuple[str, str, str]:
        return self.module.removeprefix("lumpable."), self.function, room(self.imports)

    @property
    def rooms(self) -> tuple[str, str]:
        return room(self.module), room(self.imports)


def room(module: str) -> str:
    """Return the room of a module; loose files of the package are rooms of their own."""
    return module.removeprefix("lumpable.").partition(".")[0]


def modules() -> dict[str, Path]:
    """Return every module of the package, packages by their own name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts).removesuffix(".__init__")] = path
    return found


def imports(module: str, source: str, known: dict[str, Path]) -> Iterator[Import]:
    """Yield what a module imports, at whatever depth."""
    for node, function in nodes(ast.parse(source), ""):
        for name in names(node, known):
            yield Import(module, name, getattr(node, "lineno", 0), function)


def nodes(node: ast.AST, function: str) -> Iterator[tuple[ast.AST, str]]:
    """Yield everything below a node, with the function or class that it stands in."""
    for child in ast.iter_child_nodes(node):
        yield child, function
        inside = function
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inside = f"{function}.{child.name}".lstrip(".")
        yield from nodes(child, inside)


def names(node: ast.AST, known: dict[str, Path]) -> Iterator[str]:
    """Yield the modules that a statement imports, `need("module", ..)` included."""
    if isinstance(node, ast.Import):
        yield from (name.name for name in node.names)
    elif isinstance(node, ast.ImportFrom):
        origin = "." * node.level + (node.module or "")
        for name in node.names:
            inside = f"{origin}.{name.name}"
            yield inside if inside in known else origin
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        first = node.args[0] if node.args else None
        if node.func.id == "need" and isinstance(first, ast.Constant):
            yield str(first.value)


@cache
def all_imports() -> list[Import]:
    known = modules()
    return [each for name, path in known.items() for each in imports(name, path.read_text(), known)]


def broken(found: list[Import] | None = None) -> list[str]:
    """Return the imports that go where they may not, in words."""
    wrong = []
    for each in all_imports() if found is None else found:
        here, there = each.rooms
        if not each.imports.startswith(("lumpable", ".")) or here in (
            "lumpable",
            "testing",
            "__main__",
        ):
            continue
        if each.imports == "lumpable" and here in FACE:
            continue
        if here == there or there in BELOW.get(here, set()):
            continue
        if each.call not in UPWARD:
            wrong.append(f"{each.module}:{each.line} imports {each.imports}")
    return wrong


def test_every_room_knows_only_those_below_it() -> None:
    assert broken() == []


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("lumpable.base.checks", "from lumpable.plans.plan import Plan"),
        ("lumpable.plans.pac", "import lumpable.worlds.world"),
        ("lumpable.learners.ucb", "def late():\n    from lumpable.worlds.scene import Scene"),
        ("lumpable.lumps.use.named", "from lumpable.comparisons import comparison"),
        ("lumpable.lumps.use.named", "from lumpable.reports.pages import belief_page"),
        ("lumpable.worlds.world", "import lumpable"),
    ],
)
def test_an_edge_that_is_added_is_seen(module: str, line: str) -> None:
    assert broken(list(imports(module, line, modules())))


def test_no_upward_call_is_listed_that_is_gone() -> None:
    used = {each.call for each in all_imports() if each.imports.startswith("lumpable.")}
    assert used >= UPWARD


def test_libraries_stay_in_the_rooms_that_need_them() -> None:
    wrong = [
        f"{each.module}:{each.line} imports {each.imports}"
        for each in all_imports()
        if (library := each.imports.partition(".")[0]) in OUTSIDE
        and room(each.module) not in OUTSIDE[library]
    ]
    assert wrong == []


def test_plans_have_no_luck_no_clock_and_no_files() -> None:
    wrong = [
        f"{each.module}:{each.line} imports {each.imports}"
        for each in all_imports()
        if room(each.module) == "plans"
        and (each.imports.partition(".")[0] in IMPURE or each.imports.startswith("numpy.random"))
    ]
    for name, path in modules().items():
        if room(name) == "plans":
            called = list(ast.walk(ast.parse(path.read_text())))
            wrong += [
                f"{name}:{node.lineno} calls open or np.random"
                for node in called
                if (isinstance(node, ast.Name) and node.id in ("open", "print", "input"))
                or (isinstance(node, ast.Attribute) and node.attr == "random")
            ]
    assert wrong == []


def test_the_top_of_the_tree_is_short() -> None:
    assert len([path for path in PACKAGE.iterdir() if path.is_file()]) <= 10
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()}
    assert rooms == set(BELOW)


def test_no_two_modules_have_one_name() -> None:
    stems = Counter(name.rpartition(".")[2] for name in modules())
    assert [stem for stem, times in stems.items() if times > 1] == []


def test_no_public_function_has_the_name_of_a_module() -> None:
    stems = {name.rpartition(".")[2] for name in modules()} - {"lumpable"}
    rooms = [lb, lb.worlds, lb.learners]
    spaces = [*rooms, lb.pac, lb.regret, lb.standard, lb.reductions, lb.bounds, lb.lengths]
    public = {
        f"{space.__name__}.{name}"
        for space in spaces
        for name in getattr(space, "__all__", vars(space))
        if isinstance(getattr(space, name), FunctionType) and not name.startswith("_")
    }
    assert [name for name in public if name.rpartition(".")[2] in stems] == []


def test_everything_public_is_shown() -> None:
    assert set(lb.__all__) <= set(dir(lb))
    for name in dir(lb):
        assert getattr(lb, name) is not None


def test_importing_the_package_compiles_nothing_and_reads_no_files() -> None:
    heavy = ["numba", "scipy", "pyarrow", "altair", "jinja2", "click", "rich", "pandas", "msgspec"]
    heavy += ["duckdb"]
    code = f"import lumpable, sys; print(*[name for name in {heavy} if name in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.split() == []
