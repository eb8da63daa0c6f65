"""A console that shows names and obeys none of them. Imports rich: import it late."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from lumpable.base.words import plain


class Plain(Console):
    """A console for text that may come from anybody: no markup, no escape sequences."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Turn text into what is shown; everything that is printed goes through here."""
        return super().render_str(plain(text), **options)
