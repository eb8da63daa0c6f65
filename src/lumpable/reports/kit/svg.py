"""Edit an SVG that is already drawn: a name for screen readers, ids of its own, fewer clips."""

from __future__ import annotations

import re
from xml.sax.saxutils import quoteattr


def name_svg(picture: str, words: str) -> str:
    """Give an SVG a name for those who cannot see it; its marks need not hide one by one."""
    bare = re.sub(r'(<[^<>]*?) aria-hidden="true"', r"\1", picture)
    return bare.replace("<svg ", f'<svg role="img" aria-label={quoteattr(words)} ', 1)


def renumber_ids(picture: str, prefix: str) -> str:
    """Number the ids of an SVG from 1 behind a prefix, so that several can stand in one page.

    The library counts on from picture to picture; this way the same picture is the same text.
    """
    ids = dict.fromkeys(re.findall(r'<[^<>]*?\sid="([^"]*)"', picture))
    new = {old: f"{prefix}{k}" for k, old in enumerate(ids, start=1)}
    uses = r'(\sid="|url\(#|href="#)([^")]*)'
    return re.sub(uses, lambda use: use[1] + new.get(use[2], use[2]), picture)


def clip_once(picture: str) -> str:
    """Cut the curves of an SVG off at its edges together, not each by itself.

    A clip is a layer of pixels as large as the picture: one for each curve takes ten seconds.
    """
    clips = re.findall(r'<clipPath id="([^"]*)"[^>]*>(.*?)</clipPath>', picture, re.S)
    if len({shape for _, shape in clips}) != 1:
        return picture
    alone, first = re.sub(r' clip-path="[^"]*"', "", picture), clips[0][0]
    return re.sub(r'(<g class="[^"]*pathgroup")', rf'\1 clip-path="url(#{first})"', alone)
