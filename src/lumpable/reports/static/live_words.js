// Numbers, names and tables as text. Nothing that comes from outside is ever read as HTML.
const NOTHING = "–";
const one = id => document.getElementById(id);
const minus = text => text.replace("-", "−");
const whole = value => minus(Math.round(value).toLocaleString("en"));
const percent = share => share > 0 && share < 0.01 ? "under 1 %" : `${Math.round(100 * share)} %`;
const chance = p => p > 0.99 ? "over 99 %" : p < 0.01 ? "under 1 %" : percent(p);  // never certain

function number(value) {
  if (value === null || value === undefined) return NOTHING;
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return minus(value.toExponential(2).replace("e+", "e"));
  return minus(value.toLocaleString("en",
    size >= 100 ? {maximumFractionDigits: 0} : Number.isInteger(value) ? {}
      : {minimumSignificantDigits: 3, maximumSignificantDigits: 3}));
}

const range = (low, high) => low === null ? "not enough yet" : `${number(low)} to ${number(high)}`;
const clock = seconds => new Date(1000 * seconds).toLocaleTimeString("en-GB");
const day = seconds => new Date(1000 * seconds).toLocaleString("en-GB",
  {day: "numeric", month: "short", hour: "2-digit", minute: "2-digit"});

// JSON whose whole numbers of more than 53 bits stay exact, as BigInt: names may be such
function exact(text) {
  const marked = text.replace(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g, part =>
    /^-?\d{16,}$/.test(part) && !Number.isSafeInteger(Number(part)) ? `{"large whole":"${part}"}` : part);
  return JSON.parse(marked, (_, value) =>
    value?.["large whole"] === undefined ? value : BigInt(value["large whole"]));
}

function labels(names) {  // as text; in quotes where two would look alike, or one shows nothing
  const texts = names.map(String);
  const many = new Map();
  for (const name of new Set(names)) many.set(String(name), (many.get(String(name)) ?? 0) + 1);
  return texts.map((text, k) =>
    many.get(text) > 1 && typeof names[k] === "string" || !text.trim() ? JSON.stringify(text) : text);
}

function make(tag, text = "", kind = "") {
  const made = document.createElement(tag);
  if (text !== "") made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

const say = (id, text) => { if (one(id).textContent !== text) one(id).textContent = text; };

// columns: [head, number?]; rows: texts, or {text, kind, share}; `first` marks where a part begins
function table(id, columns, rows, first = () => false) {
  const head = make("tr");
  for (const [name, isNumber] of columns) {
    const cell = make("th", name, isNumber ? "number" : "");
    cell.scope = "col";
    head.append(cell);
  }
  const body = rows.map((row, r) => {
    const line = make("tr", "", first(r) ? "first" : "");
    row.forEach((value, k) => {
      const {text, kind = "", share} = typeof value === "object" ? value : {text: value};
      const cell = make(k ? "td" : "th", "", kind || (columns[k][1] ? "number" : ""));
      if (!k) cell.scope = "row";
      if (share !== undefined) {
        const bar = make("i", "", "bar");
        bar.style.width = `${Math.round(48 * share)}px`;
        cell.append(bar);
      }
      cell.append(text);
      line.append(cell);
    });
    return line;
  });
  const parts = [make("thead"), make("tbody")];
  parts[0].append(head);
  parts[1].append(...body);
  one(id).replaceChildren(...parts);
  cue(one(id).closest(".wide"));
}

// what goes on beyond the edge is faded there
function cue(box) {
  const more = box.scrollLeft + box.clientWidth < box.scrollWidth - 2;
  box.toggleAttribute("data-more", more);
}
for (const box of document.querySelectorAll(".wide")) {
  box.addEventListener("scroll", () => cue(box), {passive: true});
  new ResizeObserver(() => cue(box)).observe(box);
}
