"""Templates in, pages out. All values are escaped, and a page fetches nothing.

Templates are in `templates`, style sheets and scripts in `static`; they end up inside the page.
"""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any

from lumpable.base.extras import need
from lumpable.base.words import plural
from lumpable.reports.kit import numbers, theme


def environment() -> Any:
    """Return the environment of all templates, or say how to install what they need."""
    return _configure(need("jinja2", "plot", "making pages"))


@functools.cache
def _configure(jinja2: Any) -> Any:
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("lumpable.reports"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.policies["json.dumps_kwargs"] = {
        "ensure_ascii": False,
        "separators": (",", ":"),
        "allow_nan": False,
    }
    made.globals |= {"static": static, "schemes": theme.SCHEMES}
    made.filters |= {name: getattr(numbers, name) for name in numbers.__all__} | {"plural": plural}
    return made


def static(name: str) -> str:
    """Return a style sheet or a script of the package."""
    return (resources.files("lumpable.reports") / "static" / name).read_text(encoding="utf-8")


def render(template: str, **context: Any) -> str:
    """Fill a template."""
    text: str = environment().get_template(template).render(context)
    return text
