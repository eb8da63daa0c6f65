"""What every page of the package shares: its frame, how it looks, and figures that stand in it.

Light and dark, on a phone and on paper; pages open offline. Knows nothing of what they show.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

HEAD = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
"""
"""How a page begins."""


def styled(title: str, body: str, more: str = "") -> str:
    """Return a whole page in the common style, with more rules behind it.

    The body is HTML and has a section `summary`.
    """
    return f"""\
{HEAD}<meta name="color-scheme" content="light dark">
<title>{escape(title, quote=False)}</title>
<style>{STYLE}{more}</style>
</head>
<body>
<a class="skip" href="#summary">Skip to the summary</a>
{body}
</body>
</html>
"""


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Return names and what is said of each, which is HTML, as a list."""
    lines = "\n".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in pairs)
    return f"<dl>\n{lines}\n</dl>"


def head(text: str, number: bool = False, title: str = "") -> str:
    """Return the head of a column; the text is HTML."""
    kind = ' class="number"' if number else ""
    more = f' title="{escape(title)}"' if title else ""
    return f'<th scope="col"{kind}{more}>{text}</th>'


def scrolled(label: str, table: str) -> str:
    """Let a wide table scroll by itself on a narrow screen, also by keyboard."""
    words = f'role="region" aria-label="{escape(label)}" tabindex="0"'
    return f'<div class="wide" {words}>\n{table}\n</div>'


def named(picture: str, words: str) -> str:
    """Give an SVG a name for those who cannot see it."""
    return picture.replace("<svg ", f'<svg role="img" aria-label="{escape(words)}" ', 1)


def apart(picture: str, prefix: str) -> str:
    """Give the ids of an SVG a prefix, so that several can stand in one page."""
    picture = re.sub(r'(<[^<>]*?\sid=")', rf"\1{prefix}", picture)
    return re.sub(r'(url\(#|href="#)', rf"\1{prefix}", picture)


STYLE = """
:root {
  color-scheme: light dark;
  --ink: #1c1c1c; --paper: #ffffff; --soft: #565656; --line: #cfcfcf; --band: #f4f4f2;
  --link: #0b57a4; --good: #1a6b33; --bad: #a81e1e; --odd: #875200;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e6e6e6; --paper: #16181b; --soft: #a9adb3; --line: #43474d; --band: #202327;
    --link: #8fbff0; --good: #7fd097; --bad: #ff9b93; --odd: #f0b860;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; -webkit-text-size-adjust: 100%; }
body {
  margin: 0 auto; padding: 1.5rem 1.25rem 4rem; max-width: 66rem;
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif;
  color: var(--ink); background: var(--paper); overflow-wrap: break-word;
}
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .75rem; }
h2 { font-size: 1.4rem; margin: 2.5rem 0 .75rem; }
h3 { font-size: 1.15rem; line-height: 1.35; margin: 0 0 .75rem; }
p, dl, figure { margin: 0 0 1rem; }
p, dd { max-width: 46rem; }
a { color: var(--link); }
a:focus-visible, [tabindex]:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
code { font: .92em ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
.paper { color: var(--soft); }
dl > div { display: grid; grid-template-columns: 8.5rem 1fr; gap: .75rem; padding: .15rem 0; }
dt { color: var(--soft); }
dd { margin: 0; }
nav { border-block: 1px solid var(--line); padding: .6rem 0; }
nav ul, nav ol { display: flex; flex-wrap: wrap; gap: .15rem .35rem; list-style: none; margin: 0;
  padding: 0; }
nav ul { gap: .15rem 1.25rem; }
nav ol a { display: block; min-width: 2.1rem; padding: .2rem .4rem; text-align: center; }
nav ul a { display: block; padding: .2rem 0; }
.wide { overflow-x: auto; margin: 0 0 1rem; }
table { border-collapse: collapse; width: 100%; font-size: .94rem; }
th, td { text-align: start; vertical-align: top; padding: .35rem .6rem;
  border-bottom: 1px solid var(--line); }
thead th { color: var(--soft); font-weight: 600; white-space: nowrap; }
tbody th { font-weight: 400; min-width: 13rem; }
td { white-space: nowrap; }
th.number, td.number { text-align: end; font-variant-numeric: tabular-nums; }
th[scope="rowgroup"] { background: var(--band); font-weight: 600; }
article { border-top: 1px solid var(--line); padding: 1.5rem 0 .5rem; }
.holds, .caught, .yes { color: var(--good); }
.does-not-hold { color: var(--odd); }
.not-caught, .no, .not-measured, .error { color: var(--bad); font-weight: 600; }
figure { margin-top: 1.25rem; }
.picture { overflow-x: auto; background: #fff; border: 1px solid var(--line); border-radius: 4px; }
.picture svg { display: block; margin: 0 auto; }
figcaption { color: var(--soft); font-size: .9rem; margin-top: .4rem; max-width: 46rem; }
.back { font-size: .9rem; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
  white-space: nowrap; }
.skip { position: absolute; left: -999rem; }
.skip:focus { position: static; }
@media (max-width: 40rem) {
  body { padding: 1rem .9rem 3rem; }
  h1 { font-size: 1.55rem; }
  dl > div { grid-template-columns: 1fr; gap: 0; padding: .25rem 0; }
  tbody th { min-width: 8rem; }
  .summary th, .summary td { white-space: normal; }
  .summary tbody th { min-width: 6rem; }
  th, td { padding: .35rem .45rem; }
}
@media print {
  :root { --ink: #000; --paper: #fff; --soft: #444; --line: #bbb; --band: #f2f2f2;
    --link: #000; --good: #000; --bad: #000; --odd: #000; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  nav, .back, .skip { display: none; }
  a { text-decoration: none; }
  .wide, .picture { overflow: visible; }
  tbody th { min-width: 0; }
  .picture svg { max-width: 100%; height: auto; }
  figure, tr { break-inside: avoid; }
  h2, h3, thead { break-after: avoid; }
}
"""
