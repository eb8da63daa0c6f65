"""The page of a comparison: one HTML file that opens offline, with its pictures' script inside.

Takes standings, computes nothing. Every word that comes from elsewhere is escaped.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from html import escape

from lumpable.comparisons.standing import COLOURED, ORACLE, Overall, Standing
from lumpable.reports import comparison_tables, drawing, frame
from lumpable.reports.figures import TITLES, Figure, Series
from lumpable.reports.numbers import counted, listed
from lumpable.reports.script import SCRIPT
from lumpable.reports.style import EXTRA
from lumpable.reports.vega import CURVES

READING = """\
<p><strong>Regret</strong> is the reward given up so far against always playing each context's best
arm; less is better. Lines are means over seeds; their shade is the 95 % interval of the mean, mean
± <var>t</var> <var>s</var> / √<var>n</var>. A <strong>fair peer</strong> is told nothing that only
an oracle can know. Learners that are told more are marked with what they know, drawn dotted, and
never the measure of others.</p>
<p>All learners of a world meet the same contexts and the same luck, seed by seed, so that ratios
are paired. The ratio of learner <var>A</var> to the best fair peer <var>B</var> is the ratio of
mean regrets, <span class="formula"><var>ā</var> / <var>b̄</var></span>, over the <var>n</var> seeds
that both have; its interval is Fieller's, all <var>ρ</var> with</p>
<p class="formula">(<var>ā</var> − <var>ρ</var> <var>b̄</var>)² ≤ <var>t</var>²
(<var>s</var><sub>aa</sub> − 2 <var>ρ</var> <var>s</var><sub>ab</sub> + <var>ρ</var>²
<var>s</var><sub>bb</sub>) / <var>n</var>,</p>
<p>where <var>s</var> are the sample variances and the covariance of the two regrets and
<var>t</var> is the 97.5 % quantile of Student's law with <var>n</var> − 1 degrees of freedom. The
best fair peer is the one with the least mean, among those with at least half of the seeds: as it
was picked for that, the others look a little worse beside it than they are.</p>"""


def page(
    overall: Overall,
    drawn: Sequence[Series],
    figures: Sequence[Figure],
    title: str,
    date: datetime,
    script: str,
) -> str:
    """Return the whole page."""
    kinds = sorted({figure.kind for figure in figures})
    data = {
        "series": drawn,
        "figures": {figure.key: figure.page() for figure in figures},
        "templates": {
            scheme: {kind: drawing.compiled(kind, scheme) for kind in kinds}
            for scheme in ("light", "dark")
        },
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    held = text.replace("<", "\\u003c")  # a name must not end the element
    worlds = "".join(
        _world(standing, place, [figure for figure in figures if figure.world == place])
        for place, standing in enumerate(overall.standings)
    )
    strip = next((figure for figure in figures if figure.kind == "strip"), None)
    body = f"""\
<header>
<h1>{escape(title)}</h1>
{_facts(overall, date)}
<noscript><p class="note">The pictures need script, which is switched off. The tables do not, and \
hold the same numbers.</p></noscript>
</header>
{_contents(overall)}
<main>
<section aria-labelledby="summary">
<h2 id="summary">Summary</h2>
<p class="lead">{comparison_tables.notable(overall)}</p>
{_notes(overall)}
{_several(overall, strip)}
</section>
<section aria-labelledby="reading">
<h2 id="reading">How to read this</h2>
{READING}
</section>
<section aria-labelledby="worlds">
<h2 id="worlds">{"The worlds" if len(overall.standings) > 1 else "The world"}</h2>
{worlds}</section>
</main>
<div id="tip" aria-hidden="true" hidden></div>
<script type="application/json" id="report">{held}</script>
<script>{script}</script>
<script>{SCRIPT}</script>"""
    return frame.styled(title, body, EXTRA)


def _several(overall: Overall, strip: Figure | None) -> str:
    """Return what only several worlds have: all ratios, as picture and as table."""
    if len(overall.standings) < 2:
        return ""
    picture = "" if strip is None else _figure(strip, "Dots are worlds, bars geometric means.")
    return comparison_tables.overall(overall) + picture


# --- The head -------------------------------------------------------------------------------------


def _facts(overall: Overall, date: datetime) -> str:
    comparison = overall.comparison
    worlds = comparison.worlds
    knowing = sum(map(bool, overall.knows))
    told = f", {knowing} of them told what only an oracle knows" if knowing else ""
    seeds = sorted({seed for world in worlds for seed in world.seeds})
    horizons = sorted({world.horizon for world in worlds})
    rounds = f"{horizons[0]:,}" + (f" to {horizons[-1]:,}" if len(horizons) > 1 else "")
    cells = len(comparison.learners) * sum(len(world.seeds) for world in worlds)
    states = [status for world in worlds for status, _ in world.undone.values()]
    undone = "".join(
        f", {states.count(status):,} {status}"
        for status in ("failed", "not run", "not yet run")
        if status in states
    )
    facts = (
        ("Learners", f"{len(comparison.learners)}{told}"),
        ("Worlds", f"{len(worlds)}"),
        ("Seeds", f"{len(seeds)} ({listed(seeds)})"),
        ("Rounds", rounds),
        ("Cells", f"{cells - len(states):,} of {cells:,} done{undone}"),
        ("Rows", f"{comparison.rows:,}"),
        ("Package", f"lumpable {escape(', '.join(comparison.versions))}"),
        ("Page made", f"{date:%Y-%m-%d %H:%M %Z}"),
    )
    return frame.facts(facts)


def _notes(overall: Overall) -> str:
    notes = []
    if overall.comparison.unfinished:
        notes.append("This run is not finished: what is below may change.")
    if all(len(world.seeds) == 1 for world in overall.comparison.worlds):
        notes.append("There is one seed only: no intervals, and no saying what is luck.")
    return "".join(f'<p class="note">{note}</p>' for note in notes)


def _contents(overall: Overall) -> str:
    links = "\n".join(
        f'<li><a href="#world-{place}" title="{escape(standing.world.name)}">{place}. '
        f"{escape(standing.world.name)}</a></li>"
        for place, standing in enumerate(overall.standings, start=1)
    )
    return f"""\
<nav aria-label="Contents">
<ul>
<li><a href="#summary">Summary</a></li>
<li><a href="#reading">How to read this</a></li>
<li><a href="#worlds">The worlds</a></li>
</ul>
<ol class="names">
{links}
</ol>
</nav>"""


# --- A world --------------------------------------------------------------------------------------


def _world(standing: Standing, place: int, figures: Sequence[Figure]) -> str:
    world = standing.world
    facts = (
        f"{counted(world.contexts, 'context')}, {counted(world.arms, 'arm')}, "
        f"{counted(world.groups, 'hidden group')}, {counted(world.horizon, 'round')}, "
        f"{counted(len(world.seeds), 'seed')}."
    )
    setting = f"<br><small>{escape(world.setting)}</small>" if world.setting else ""
    parts = [
        f'<article id="world-{place + 1}" aria-labelledby="name-{place + 1}">',
        f'<h3 id="name-{place + 1}">{place + 1}. {escape(world.name)}</h3>',
        f"<p>{facts}{setting}</p>",
    ]
    if standing.order:
        parts += [_legend(standing, place), _regret(standing, figures, place), _others(figures)]
        parts += [comparison_tables.ratios(standing), _duels(standing), _time(figures)]
    else:
        parts.append('<p class="note">Nothing was done in this world.</p>')
    missing = comparison_tables.undone(standing)
    parts.append(f'<div id="undone-{place + 1}">{missing}</div>' if missing else "")
    parts.append('<p class="back"><a href="#summary">Back to the summary</a></p></article>')
    return "\n".join(part for part in parts if part) + "\n"


def _legend(standing: Standing, place: int) -> str:
    """Return the learners as buttons, by regret; a pressed one stands out in all pictures."""
    shown = standing.shown
    rest = [i for i in standing.order if i not in shown]
    label = "Learners by regret, the least first; press to make one stand out"
    listed_ = "".join(_button(standing, i) for i in shown)
    start = f'<div class="legend" role="group" aria-label="{label}" data-world="{place}">'
    legend = f"{start}{listed_}</div>"
    if not rest:
        return legend
    more = "".join(_button(standing, i) for i in rest)
    return (
        f"{legend}<details><summary>{len(rest)} more, drawn in grey</summary>"
        f"{start}{more}</div></details>"
    )


def _button(standing: Standing, i: int) -> str:
    look = standing.looks[i]
    name, known = escape(standing.world.learners[i]), standing.world.knows[i]
    told = f" <small>knows {escape(known)}</small>" if known else ""
    kind = ' class="coloured"' if look < COLOURED or look == ORACLE else ""
    return (
        f'<button type="button"{kind} aria-pressed="false" data-learner="{name}">'
        f'<span class="swatch look-{look}"></span><span>{name}{told}</span></button>'
    )


def _regret(standing: Standing, figures: Sequence[Figure], place: int) -> str:
    """Return the figure of regret with the switch of its axes."""
    views = [figure for figure in figures if figure.choice]
    radios = "".join(
        f'<label><input type="radio" name="axes-{place}" value="{escape(view.choice)}" '
        f'data-axes="picture-{view.group}" data-figure="{view.key}"{" checked" * (k == 0)}>'
        f"{escape(view.choice)}</label>"
        for k, view in enumerate(views)
    )
    switch = f"<fieldset><legend>Axes</legend>{radios}</fieldset>"
    words = "Means over seeds, with 95 % intervals of the mean for those with a name."
    if len(standing.world.seeds) == 1:
        words = "One seed: no means, no intervals."
    return _figure(views[0], words, switch)


def _others(figures: Sequence[Figure]) -> str:
    """Return the smaller figures, in two columns where there is room."""
    words = {
        "simple": "What a round would lose if learning stopped now. Means over seeds.",
        "worse": "Contexts that would have more if all were given the same best arm.",
        "clusters": "Means over seeds, on logarithmic axes, of learners that have groups.",
        "ari": "1 is the truth, 0 is chance. Means over seeds.",
    }
    small = [_figure(figure, words[figure.kind]) for figure in figures if figure.kind in words]
    none = not any(figure.kind == "clusters" for figure in figures)
    note = "<p>No learner here has groups of contexts.</p>" if none else ""
    return f'<div class="pair">{"".join(small)}</div>{note}'


def _figure(figure: Figure, words: str, switch: str = "") -> str:
    kind = CURVES.get(figure.kind)
    heading = TITLES[kind.measure] if kind else figure.title.split(": ")[0]
    tall = (figure.height or (kind.height if kind else 200)) + 50
    name = f"picture-{figure.group or figure.key}"
    return f"""\
<figure>
<h4>{heading}</h4>
{switch}<div class="picture" id="{name}" data-figure="{figure.key}" role="img" \
aria-label="{escape(figure.description)}" style="min-height:{tall}px"></div>
<figcaption><span>{words}</span><button type="button" class="save" \
aria-label="Save the picture as SVG: {escape(figure.title)}">Save as SVG</button></figcaption>
</figure>"""


def _time(figures: Sequence[Figure]) -> str:
    figure = next((figure for figure in figures if figure.kind == "time"), None)
    if figure is None:
        return ""
    picture = _figure(figure, "On a logarithmic axis. Means over seeds.")
    return f"<details><summary>Time a round, drawn</summary>{picture}</details>"


def _duels(standing: Standing) -> str:
    if len(standing.order) < 2:
        return ""
    words = "Who beats whom, seed by seed"
    return f"<details><summary>{words}</summary>{comparison_tables.duels(standing)}</details>"
