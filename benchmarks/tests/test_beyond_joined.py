"""The table of all sizes says what the three measured pages say."""

from __future__ import annotations

import beyond_joined
import pytest
from beyond_joined import LETTER, PAGES, SIZES


def test_the_table_of_the_letter_is_that_of_the_pages() -> None:
    letter, pages = LETTER.read_text(), [page.read_text() for page in PAGES]
    made = beyond_joined.joined(pages)
    assert made in letter
    assert beyond_joined.with_table(letter, made) == letter
    assert len(made.splitlines()) == 2 + 2 * 4 * 2  # r, worlds, forms


def test_every_figure_is_where_its_page_has_it() -> None:
    made = beyond_joined.joined(page.read_text() for page in PAGES)
    for row in made.splitlines()[2:]:
        r, world, form, *figures = [word.strip() for word in row.strip("|").split("|")]
        for size, figure in zip(SIZES, figures, strict=False):
            having = [beyond_joined.ratios(page.read_text()).get((r, world, form), {})
                      for page in PAGES]  # fmt: skip
            assert [said[size] for said in having if size in said] == [figure]


def test_a_size_that_no_page_has_is_an_error() -> None:
    with pytest.raises(KeyError, match="5,000"):
        beyond_joined.joined(page.read_text() for page in PAGES[:2])
