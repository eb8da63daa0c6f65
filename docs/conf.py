"""How Sphinx builds the site: `make docs`. No page asks for anything from outside."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tools")]  # the package beside these pages

import site_pages  # noqa: E402
from lumpable.base.version import __version__  # noqa: E402

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project, author = "lumpable", "The lumpable developers"
version = release = __version__
project_copyright = author
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
exclude_patterns = ["static"]

# Markdown: links to headings as git hosts spell them.
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline", "colon_fence"]

# The API: signatures as they were typed, `code` between backquotes.
default_role = "literal"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 80
add_module_names = False
toc_object_entries_show_parents = "hide"

# The page: nothing from other hosts, light and dark, the reader's own fonts.
html_theme = "furo"
html_title = f"lumpable {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = html_show_sourcelink = html_show_sphinx = False
html_show_search_summary = False  # would fetch the pages found, which browsers forbid on a disk
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#005a8c", "color-brand-content": "#005a8c"},
    "dark_css_variables": {"color-brand-primary": "#6cb8e6", "color-brand-content": "#6cb8e6"},
}
pygments_dark_style = "github-dark"  # the default underlines names of modules
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True


def setup(app: Sphinx) -> None:
    """Fill in what git does not hold, and hand docstrings over as plain text."""
    app.connect("source-read", _fill)
    app.connect("autodoc-process-docstring", _plain)
    app.connect("autodoc-process-signature", _short)


def _fill(_app: Sphinx, _page: str, source: list[str]) -> None:
    # doctest wants an empty line where an example ends; on the page it would be one too many
    source[0] = site_pages.filled(source[0]).replace("\n\n```\n", "\n```\n")


def _plain(_app: Sphinx, _kind: str, _name: str, _thing: Any, _o: Any, lines: list[str]) -> None:
    lines[:] = site_pages.as_rst(lines)


def _short(
    _app: Sphinx, _kind: str, _name: str, _thing: Any, _o: Any, given: str | None, back: str | None
) -> tuple[str | None, str | None]:
    return site_pages.short_types(given), site_pages.short_types(back)
