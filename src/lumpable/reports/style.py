"""How the report of a comparison looks, on top of the style of the package's other page."""

from lumpable.reports.palette import DARK, LIGHT


def _colours(colours: tuple[str, ...]) -> str:
    return " ".join(f"--look-{number}: {colour};" for number, colour in enumerate(colours))


_SHADES = "\n".join(
    f".heat-{k} {{ background: color-mix(in srgb, var(--warm) {k * 11}%, var(--paper)); }}"
    for k in range(9)
)
_WINS = "\n".join(
    f".win-{k} {{ background: color-mix(in srgb, var({'--cool' if k > 5 else '--warm'}) "
    f"{abs(k - 5) * 14}%, var(--paper)); }}"
    for k in range(11)
)
_LOOKS = "\n".join(
    f".look-{k} {{ border-top-color: var(--look-{k}); "
    f"border-top-style: {'solid' if k < 4 or k == 8 else 'dashed' if k < 8 else 'dotted'}; }}"
    for k in range(11)
)

EXTRA = f"""
:root {{ --warm: #e8964a; --cool: #6fb1e0; {_colours(LIGHT)} }}
@media (prefers-color-scheme: dark) {{
  :root {{ --warm: #8f4f12; --cool: #1f5f92; {_colours(DARK)} }}
}}
body {{ max-width: 78rem; }}
caption {{ caption-side: top; text-align: start; color: var(--soft); padding: 0 0 .5rem;
  max-width: min(46rem, calc(100vw - 2rem)); position: sticky; left: 0; }}
small {{ color: var(--soft); font-size: .85em; }}
thead small {{ display: block; font-weight: 400; max-width: 9.5rem; overflow: hidden;
  text-overflow: ellipsis; margin-inline-start: auto; }}
thead th {{ vertical-align: bottom; }}
th, td {{ padding: .22rem .55rem; }}
tbody th {{ min-width: 11rem; }}
button:focus-visible, summary:focus-visible, input:focus-visible {{
  outline: 3px solid var(--link); outline-offset: 2px; }}
.knows {{ color: var(--soft); font-size: .85em; border: 1px solid var(--line); border-radius: 3px;
  padding: 0 .3em; white-space: nowrap; }}
header dl {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(22rem, 1fr));
  gap: 0 2rem; }}
table.ratios tbody th {{ min-width: 15rem; }}
table.ratios th, table.ratios td {{ padding-inline: .45rem; }}
.lead {{ font-size: 1.1rem; }}
.note {{ border-inline-start: 4px solid var(--odd); padding: .3rem .8rem; }}
.undone, .not-run, .not-yet-run {{ color: var(--odd); }}
.undone a {{ color: inherit; }}
.failed {{ color: var(--bad); font-weight: 600; }}
table.undone {{ color: inherit; }}
table.undone td {{ white-space: normal; }}
tr.best th, tr.best td, td.best {{ font-weight: 700; }}
.under {{ background: color-mix(in srgb, var(--cool) 55%, var(--paper)); }}
.self {{ background: var(--band); }}
.sure {{ font-weight: 700; text-decoration: underline; }}
table.heat, table.duels {{ width: auto; }}
table.heat td, table.duels td {{ padding: .2rem .4rem; border-inline: 1px solid var(--paper); }}
table.heat tbody th, table.duels tbody th {{ white-space: nowrap; position: sticky; left: 0;
  background: var(--paper); }}
.wide {{ position: relative; }}
.wide[data-more] {{ mask-image: linear-gradient(to left, #0003, #000 2.5rem); }}
.wide[data-more] caption {{ max-width: min(46rem, calc(100vw - 4rem)); }}
.more {{ color: var(--soft); margin: 0 0 .3rem; }}
.more::after {{ content: " →" / ""; }}
table.many {{ font-size: .78rem; }}
table.many th, table.many td {{ padding-inline: .2rem; }}
table.many tbody th {{ min-width: 9rem; max-width: 13rem; white-space: normal; line-height: 1.2; }}
table.many td.undone {{ white-space: normal; line-height: 1.1; }}
{_SHADES}
{_WINS}
nav ol a {{ text-decoration: none; }}
nav ol.names {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(19rem, 1fr)); }}
nav ol.names a {{ text-align: start; overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap; }}
.legend {{ display: flex; flex-wrap: wrap; gap: .3rem; margin: 0 0 .6rem; padding: 0; }}
.legend button {{ font: inherit; font-size: .85rem; color: var(--ink); background: none;
  border: 1px solid var(--line); border-radius: 999px; padding: .12rem .65rem; cursor: pointer;
  display: inline-flex; align-items: center; gap: .45rem; max-width: 100%; text-align: start;
  overflow-wrap: anywhere; }}
.legend button:hover {{ background: var(--band); }}
.legend button[aria-pressed="true"] {{ background: var(--ink); color: var(--paper);
  border-color: var(--ink); }}
[aria-pressed="true"] small {{ color: inherit; }}
.swatch {{ flex: none; width: 1.5rem; border-top: 3px solid; }}
[aria-pressed="true"] .swatch {{ background: var(--paper); box-shadow: 0 0 0 2px var(--paper); }}
{_LOOKS}
details {{ margin: 0 0 1rem; }}
summary {{ cursor: pointer; color: var(--link); width: fit-content; max-width: 100%; }}
details > :not(summary) {{ margin-top: .6rem; }}
pre {{ overflow-x: auto; background: var(--band); padding: .75rem; font-size: .82rem;
  max-width: 100%; white-space: pre-wrap; overflow-wrap: anywhere; }}
td details {{ margin: 0; }}
fieldset {{ border: 0; margin: 0 0 .4rem; padding: 0; display: flex; flex-wrap: wrap;
  gap: .2rem 1.1rem; }}
legend {{ float: inline-start; padding: 0; margin-inline-end: 1.1rem; color: var(--soft); }}
label {{ cursor: pointer; display: inline-flex; align-items: center; gap: .35rem; }}
input[type="radio"] {{ accent-color: var(--link); margin: 0; }}
.picture {{ background: none; border: 0; border-radius: 0; }}
.picture svg {{ margin: 0; max-width: 100%; }}
.pair {{ display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 0 2rem; }}
figure {{ min-width: 0; }}
figure h4 {{ font-size: 1rem; margin: 0 0 .35rem; font-weight: 600; }}
figcaption {{ display: flex; gap: 1rem; justify-content: space-between; max-width: none; }}
.save {{ font: inherit; color: var(--link); background: none; border: 0; padding: 0;
  cursor: pointer; text-decoration: underline; white-space: nowrap; }}
#tip {{ position: fixed; z-index: 9; pointer-events: none; background: var(--paper);
  color: var(--ink); border: 1px solid var(--line); border-radius: 4px; padding: .3rem .6rem;
  font-size: .85rem; box-shadow: 0 2px 8px #0003; max-width: 20rem; }}
#tip div:first-child {{ font-weight: 600; }}
.formula {{ font-family: Georgia, "Times New Roman", serif; font-size: 1.05rem; }}
@media (max-width: 52rem) {{ .pair {{ grid-template-columns: minmax(0, 1fr); }} }}
@media (max-width: 40rem) {{
  header dl {{ grid-template-columns: 1fr; }}
  table.ratios tbody th {{ min-width: 8.5rem; }}
  tbody th {{ min-width: 7.5rem; }}
  th, td {{ padding: .25rem .4rem; }}
  table.heat tbody th, table.duels tbody th {{ white-space: normal; }}
}}
@media print {{
  :root {{ --warm: #e8964a; --cool: #6fb1e0; {_colours(LIGHT)} }}
  fieldset, .legend button:not(.coloured), .save, #tip, .more {{ display: none; }}
  .wide[data-more] {{ mask-image: none; }}
  .heat td, .duels td, .under {{ print-color-adjust: exact; }}
  tbody th {{ min-width: 0; }}
  th, td {{ padding: .15rem .3rem; }}
  article {{ break-before: page; }}
}}
"""
