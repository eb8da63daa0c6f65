"""What is done to an SVG after it was drawn: a name for screen readers, ids, fewer clips."""

from __future__ import annotations

import re
from xml.sax.saxutils import quoteattr


def name_svg(picture: str, words: str) -> str:
    """Give an SVG a name for those who cannot see it."""
    return picture.replace("<svg ", f'<svg role="img" aria-label={quoteattr(words)} ', 1)


def prefix_ids(picture: str, prefix: str) -> str:
    """Give the ids of an SVG a prefix, so that several can stand in one page."""
    picture = re.sub(r'(<[^<>]*?\sid=")', rf"\1{prefix}", picture)
    return re.sub(r'(url\(#|href="#)', rf"\1{prefix}", picture)


def clip_once(picture: str) -> str:
    """Cut the curves of an SVG off at its edges together, not each by itself.

    A clip is a layer of pixels as large as the picture: one for each curve takes ten seconds.
    """
    clips = re.findall(r'<clipPath id="([^"]*)"[^>]*>(.*?)</clipPath>', picture, re.S)
    if len({shape for _, shape in clips}) != 1:
        return picture
    alone, first = re.sub(r' clip-path="[^"]*"', "", picture), clips[0][0]
    return re.sub(r'(<g class="[^"]*pathgroup")', rf'\1 clip-path="url(#{first})"', alone)
