// Pictures: drawn once, then filled again and again without a flicker.
const specs = JSON.parse(one("charts").textContent);
const drawn = new Map();  // name -> its view, or the promise of one

function tip(_, event, item, value) {  // text only
  const box = one("tip");
  box.hidden = value === null || value === undefined || value === "";
  if (box.hidden) return;
  box.replaceChildren(...Object.values(value)[0].split("\n").map(line => make("div", line)));
  const room = box.getBoundingClientRect();
  box.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - room.width - 4))}px`;
  box.style.top = `${Math.max(4, Math.min(event.clientY + 14, innerHeight - room.height - 4))}px`;
}

async function begin(name, tables, width) {
  const spec = structuredClone(specs[name]);
  for (const part of spec.data) if (part.name in tables) part.values = tables[part.name];
  spec.width = width;
  const place = make("div");
  const {view} = await vegaEmbed(place, spec, {
    mode: "vega", renderer: "svg", actions: false, defaultStyle: false, tooltip: tip, logLevel: 1,
    ast: true,  // expressions are interpreted: the policy of the page forbids to compile them
  });
  one(`picture-${name}`).replaceChildren(place);
  return view;
}

// fill a picture with tables; without rows it says in words why there is nothing to see
async function picture(name, tables, description, nothing = "Nothing to show yet.") {
  const host = one(`picture-${name}`);
  const empty = Object.values(tables)[0].length === 0;
  host.classList.toggle("empty", empty);
  host.setAttribute("aria-label", empty ? nothing : description);
  if (empty) {
    (await drawn.get(name))?.finalize();
    drawn.delete(name);
    host.textContent = nothing;
    return;
  }
  const width = host.clientWidth;
  if (!width) return;
  if (!drawn.has(name)) {
    drawn.set(name, begin(name, tables, width));
    await drawn.get(name);
    return;
  }
  const view = await drawn.get(name);
  for (const [table, rows] of Object.entries(tables)) view.data(table, rows);
  await view.width(width).runAsync();
}

function key(name, entries) {  // which colour is what
  const host = one(`key-${name}`);
  host.hidden = entries.length === 0;
  host.replaceChildren(...entries.map(([text, look]) => {
    const entry = make("span"), mark = make("i");
    mark.style.background = look;
    entry.append(mark, text);
    return entry;
  }));
}

new ResizeObserver(async () => {
  for (const [name, made] of drawn) {
    const view = await made, width = one(`picture-${name}`).clientWidth;
    if (width && view.width() !== width) await view.width(width).runAsync();
  }
}).observe(document.body);
