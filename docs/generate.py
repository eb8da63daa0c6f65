"""Make docs/api.md and the table of docs/learners.md from the package: `python docs/generate.py`.

Reads the source and imports nothing of it, so signatures stand as they were typed and the page is
the same on every machine. Examples lose their prompts: they run as doctests where they stand.
"""

from __future__ import annotations

import ast
import doctest
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

DOCS = Path(__file__).resolve().parent
PACKAGE = DOCS.parent / "src" / "lumpable"
PAGE = DOCS / "api.md"
LEARNERS = DOCS / "learners.md"
LEARNER_MODULES = tuple(
    f"learners.{path.stem}"
    for path in sorted((PACKAGE / "learners").glob("*.py"))
    if path.stem not in ("__init__", "base", "catalogue")
)
MODULES = (
    *("lumps.named", "lumps.decisions", "lumps.levels", "lumps.exploring", "lumps.batches"),
    *("lumps.beliefs", "lumps.odds", "lumps.left_over", "lumps.model", "lumps.search"),
    *("problem", "pac", "regret", "standard", "reductions", "schedule"),
    *("bounds", "budget", "worlds", "world"),
    *("simulate", "run", "session", "plan", "progress", "clusters"),
    *("learners", "learners.base", "learners.catalogue", "scene", "play", "measures", "testing"),
    *LEARNER_MODULES,
    *("compiled", "draws", "experiment.rows", "experiment.comparison", "surveys"),
    *("report", "pictures", "pictures.cost", "pictures.found", "pictures.falls", "pictures.alike"),
    *("reproduce.runner", "reproduce.record", "reproduce.claim", "cite", "extras"),
)
HEAD = """\
# API

Made from the docstrings by `python docs/generate.py`; a test keeps it up to date. "Reading"
refers to [paper.md](paper.md). Names that stand in `lumpable` itself are marked.
"""
FOLDERS = {"_plan": "experiment/planned:", "_lumps": "lumps/", "_at": "learners/"}
"""Where the learners are that the catalogue names so."""
INNER = ("State", "choose", "update")
"""Names of a learner's file that are not for people."""
ORACLES = {"groups": "r", "group": "the groups", "group_means": "the means", "frequency": "ν"}
Named = ast.ClassDef | ast.FunctionDef
WIDTH = 88


def page() -> str:
    """Return the whole page."""
    start = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    imports = (node for node in start.body if isinstance(node, ast.ImportFrom))
    exported = {alias.name for node in imports for alias in node.names}
    links = "\n".join(
        f"- [`lumpable.{module}`](#lumpable{module.replace('.', '')})" for module in MODULES
    )
    return "\n".join([HEAD, links + "\n", *(section(module, exported) for module in MODULES)])


def section(module: str, exported: set[str]) -> str:
    """Return what a module says of itself and of its public names."""
    stem = PACKAGE.joinpath(*module.split("."))
    path = stem / "__init__.py" if stem.is_dir() else stem.with_suffix(".py")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parts = [f"## lumpable.{module}", prose(tree)]
    for name, *paragraphs in entries(tree):
        if module in LEARNER_MODULES and name in INNER:
            continue
        mark = f"As `lumpable.{name}`." if name in exported else ""
        parts += [f"### {name}", mark, *paragraphs]
    return "\n\n".join(part for part in parts if part) + "\n"


def entries(tree: ast.Module) -> Iterator[list[str]]:
    """Yield the name of each class, function and documented value, and what there is to say."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and public(node.name):
            yield [node.name, *class_entry(node)]
        elif isinstance(node, ast.FunctionDef) and public(node.name):
            yield [node.name, code(signature(node)), prose(node)]
    for typed, words in assigned(tree.body):
        if words:
            yield [typed.split()[0], code(typed), words]


def class_entry(node: ast.ClassDef) -> Iterator[str]:
    """Yield how a class is made, what it says, its attributes and its methods."""
    methods = [child for child in node.body if isinstance(child, ast.FunctionDef)]
    methods = [m for m in methods if public(m.name) and not marked(m, "overload")]
    attributes = list(assigned(node.body))
    made = call("", [typed for typed, _ in attributes]) if attributes else ""
    for start in (child for child in node.body if isinstance(child, ast.FunctionDef)):
        if start.name == "__init__":
            made = signature(start).removeprefix("__init__").removesuffix(" -> None")
            attributes += assigned(start.body)
    yield code(f"class {node.name}{made}")
    yield prose(node)
    for method in methods:
        if marked(method, "property", "cached_property") and method.returns:
            typed = f"{method.name}: {ast.unparse(method.returns)}"
            attributes.append((typed, ast.get_docstring(method) or ""))
    yield "\n".join(f"- `{typed}`" + (f": {words}" if words else "") for typed, words in attributes)
    for method in methods:
        if not marked(method, "property", "cached_property"):
            yield from (f"#### {node.name}.{method.name}", code(signature(method)), prose(method))


def assigned(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Yield the public names that a body sets, as typed, and the string that follows each."""
    for this, after in pairwise([*body, ast.Pass()]):
        if isinstance(this, ast.Assign | ast.AnnAssign):
            name = ast.unparse(this.targets[0] if isinstance(this, ast.Assign) else this.target)
            kind = f": {ast.unparse(this.annotation)}" if isinstance(this, ast.AnnAssign) else ""
            value = "" if name.startswith("self.") else default(this.value)
            words = ""
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                words = " ".join(str(after.value.value).split())
            name = name.removeprefix("self.")
            if public(name):
                yield name + kind + value, words


def signature(node: ast.FunctionDef) -> str:
    """Return name, arguments and result as typed; `algorithm` makes a plan of its generator."""
    args = node.args
    plain = [*args.posonlyargs, *args.args]
    values = [None] * (len(plain) - len(args.defaults)) + args.defaults
    typed = [ast.unparse(a) + default(v) for a, v in zip(plain, values, strict=True)]
    if args.posonlyargs:
        typed.insert(len(args.posonlyargs), "/")
    if args.vararg or args.kwonlyargs:
        typed.append("*" + (ast.unparse(args.vararg) if args.vararg else ""))
    words = zip(args.kwonlyargs, args.kw_defaults, strict=True)
    typed += [ast.unparse(a) + default(v) for a, v in words]
    typed += [f"**{ast.unparse(args.kwarg)}"] if args.kwarg else []
    returns = ast.unparse(node.returns) if node.returns else "None"
    result = "Plan" if marked(node, "algorithm") else returns
    return call(node.name, [a for a in typed if a not in ("self", "cls")], f" -> {result}")


def call(name: str, arguments: list[str], result: str = "") -> str:
    """Return `name(arguments)result`, an argument on each line if one line is too short."""
    line = f"{name}({', '.join(arguments)}){result}"
    if len(line) <= WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {argument},\n" for argument in arguments) + f"){result}"


def default(value: ast.expr | None) -> str:
    """Return ` = value`; of a dataclass field, the value that it stands for."""
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "field":
        word = value.keywords[0]
        return f" = {ast.unparse(word.value)}" + ("()" if word.arg == "default_factory" else "")
    return "" if value is None else f" = {ast.unparse(value)}"


def prose(node: ast.Module | ast.ClassDef | ast.FunctionDef) -> str:
    """Return a docstring as Markdown: parameters as a list, examples without prompts."""
    parts, example = [], ""
    for piece in doctest.DocTestParser().parse(ast.get_docstring(node) or ""):
        if isinstance(piece, str):
            text = re.sub(r"(?m)^(\w+)\n-+\n", r"\1:\n\n", piece)
            text = re.sub(r"(?m)^(\w+)\n {4}(?=\S)", r"- `\1`: ", text)
            parts.append(re.sub(r"(?m)^ {4}(?=\S)", "  ", text).strip())
        else:
            example += piece.source + "".join(f"# {line}\n" for line in piece.want.splitlines())
    example = re.sub(r"(?m)^((?:from|import) .*\n)(?!from |import )", r"\1\n", example)
    return "\n\n".join(part for part in [*parts, code(example.strip())] if part)


def code(text: str) -> str:
    """Return a fenced block, nothing for nothing."""
    return f"```python\n{text}\n```" if text else ""


def public(name: str) -> bool:
    """Return whether people may use a name."""
    return name.isidentifier() and not name.startswith("_")


def marked(node: ast.FunctionDef, *names: str) -> bool:
    """Return whether a function has one of these decorators."""
    return any(ast.unparse(mark) in names for mark in node.decorator_list)


# --- The table of learners --------------------------------------------------------------------


def with_table(text: str) -> str:
    """Return docs/learners.md with its table made anew."""
    head, rest = text.split("<!-- learners: made by docs/generate.py -->\n")
    foot = rest.split("<!-- end -->\n")[1]
    lines = ["| name | learner | from | knows |", "| --- | --- | --- | --- |", *table()]
    made = "\n".join(lines)
    return f"{head}<!-- learners: made by docs/generate.py -->\n{made}\n<!-- end -->\n{foot}"


def table() -> Iterator[str]:
    """Yield a line for each learner of the catalogue, in its order."""
    source = (PACKAGE / "learners" / "catalogue.py").read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Dict) and len(node.keys) > 9:
            for key, value in zip(node.keys, node.values, strict=True):
                if not isinstance(key, ast.Constant) or not isinstance(value, ast.Call):
                    continue
                if isinstance(value.func, ast.Name):
                    place, title = (ast.literal_eval(part) for part in value.args[:2])
                    yield learner_line(str(key.value), FOLDERS[value.func.id] + place, title)


def learner_line(name: str, place: str, title: str) -> str:
    """Return a row: name, title, where it comes from, what it knows."""
    module, _, wanted = place.partition(":")
    tree = ast.parse((PACKAGE / f"{module}.py").read_text(encoding="utf-8"))
    first = " ".join((ast.get_docstring(tree) or "").split("\n\n")[0].split())
    (made,) = [n for n in ast.walk(tree) if isinstance(n, Named) and n.name == wanted]
    if isinstance(made, ast.ClassDef):
        (made,) = [n for n in made.body if isinstance(n, Named) and n.name == "__init__"]
    assert isinstance(made, ast.FunctionDef)
    named = [argument.arg for argument in (*made.args.args, *made.args.kwonlyargs)]
    knows = ", ".join(words for argument, words in ORACLES.items() if argument in named)
    source = first.partition(": ")[2] or first
    link = f"[{title}](../src/lumpable/{module}.py)"
    return f"| `{name}` | {link} | {source.rstrip('.')} | {knows} |"


if __name__ == "__main__":
    LEARNERS.write_text(with_table(LEARNERS.read_text(encoding="utf-8")), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
