"use strict";
const report = JSON.parse(document.getElementById("report").textContent);
const hosts = [...document.querySelectorAll(".picture[data-figure]")];
let printing = false;  // then widths are those of paper
const drawn = new Map();  // host -> its view
const picked = report.series.map(() => new Set());

function rows(series, measure) {  // curves as rows
  const parts = Object.entries(series.measures[measure]);
  return series.learners.flatMap((learner, i) => series.rounds.map((round, k) => ({
    learner, look: series.looks[i], round,
    ...Object.fromEntries(parts.map(([part, values]) => [part, values[i][k]])),
  })));
}

function specification(figure, width) {
  const spec = structuredClone(report.templates[figure.kind]);
  const narrow = width < figure.names;
  const data = structuredClone(figure.data);
  if (figure.measure) data.curves = rows(report.series[figure.world], figure.measure);
  if (narrow && data.ends) data.ends = [];  // no room for names: the legend has them
  for (const table of spec.data) if (table.name in data) table.values = data[table.name];
  const values = {...figure.params, picked: [...(picked[figure.world] ?? [])]};
  for (const signal of spec.signals)
    if (signal.name in values) signal.value = values[signal.name];
  spec.height = figure.height;
  spec.width = width;
  spec.padding = {left: 2, top: 8, bottom: 2, right: 12};
  spec.description = figure.description;
  if (width < 430) for (const axis of spec.axes ?? []) axis.labelLimit = 130;
  return spec;
}

async function draw(host) {
  const width = printing ? (host.closest(".pair") ? 330 : 680) : host.clientWidth;
  if (!width) return;  // inside what is closed
  const figure = report.figures[host.dataset.figure];
  const turn = host.turn = (host.turn ?? 0) + 1;
  const place = document.createElement("div");
  const {view} = await vegaEmbed(place, specification(figure, width),
    {mode: "vega", renderer: "svg", actions: false, defaultStyle: false, tooltip: tip,
      logLevel: 1});  // one seed has no bands, which is no error
  if (turn !== host.turn) return view.finalize();  // drawn anew meanwhile
  drawn.get(host)?.finalize();
  drawn.set(host, view);
  view.addEventListener("click", (_, item) => {
    if (figure.world !== null && item?.datum?.learner) pick(figure.world, item.datum.learner);
  });
  const picture = place.querySelector("svg");
  picture.setAttribute("role", "img");
  picture.setAttribute("aria-label", figure.description);
  host.removeAttribute("role");  // the words are on the picture now
  host.removeAttribute("aria-label");
  host.dataset.width = width;
  host.style.minHeight = "";
  host.replaceChildren(place);
  const now = picked[figure.world];  // and picked meanwhile
  if (now?.size) view.signal("picked", [...now]).run();
}

const box = document.getElementById("tip");
function tip(_, event, item, value) {  // text only
  box.hidden = value === null || value === undefined || value === "";
  if (box.hidden) return;
  box.replaceChildren(...Object.entries(value).map(([name, words], i) => {
    const line = document.createElement("div");
    line.textContent = i ? `${name}: ${words}` : words;
    return line;
  }));
  const room = box.getBoundingClientRect();
  box.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - room.width - 4)) + "px";
  box.style.top = Math.max(4, Math.min(event.clientY + 14, innerHeight - room.height - 4)) + "px";
}

// what is picked in a legend stands out in every picture of its world
function pick(world, learner) {
  const names = picked[world];
  if (!names.delete(learner)) names.add(learner);
  for (const button of document.querySelectorAll(`.legend[data-world="${world}"] button`))
    button.setAttribute("aria-pressed", names.has(button.dataset.learner));
  for (const [host, view] of drawn)
    if (report.figures[host.dataset.figure].world === world)
      view.signal("picked", [...names]).run();
}
for (const legend of document.querySelectorAll(".legend"))
  legend.addEventListener("click", event => {
    const button = event.target.closest("button");
    if (button) pick(Number(legend.dataset.world), button.dataset.learner);
  });

// the axes of regret: one choice for all worlds
const radios = [...document.querySelectorAll("input[data-axes]")];
for (const radio of radios)
  radio.addEventListener("change", () => {
    for (const other of radios)
      if (other.value === radio.value) {
        other.checked = true;
        const host = document.getElementById(other.dataset.axes);
        host.dataset.figure = other.dataset.figure;
        if (host.turn) draw(host);
      }
  });

for (const button of document.querySelectorAll(".save"))
  button.addEventListener("click", async () => {
    const host = button.closest("figure").querySelector(".picture");
    if (!drawn.has(host)) await draw(host);
    const link = document.createElement("a");
    const style = getComputedStyle(document.documentElement);  // a file has no style sheet
    const text = (await drawn.get(host).toSVG()).replace(/var\((--[\w-]+)\)/g,
      (_, name) => style.getPropertyValue(name).trim());
    link.href = URL.createObjectURL(new Blob([text], {type: "image/svg+xml"}));
    link.download = host.dataset.figure + ".svg";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });

// pictures are drawn when they come near, and again when the width changes; the others one by one
// when there is nothing else to do
const near = new IntersectionObserver(entries => {
  for (const entry of entries)
    if (entry.isIntersecting && !entry.target.turn) draw(entry.target);
}, {rootMargin: "500px"});
for (const host of hosts) near.observe(host);
const idle = self.requestIdleCallback ?? (then => setTimeout(then, 50));
async function next() {
  const host = hosts.find(host => !host.turn && host.clientWidth);
  if (!host) return;  // what is folded away may have no width: it is drawn when it is opened
  await draw(host);
  idle(next);
}
addEventListener("load", () => idle(next));

// tables that are cut off at the right say so
const more = new ResizeObserver(entries => { for (const entry of entries) cue(entry.target); });
function cue(region) {
  const over = region.scrollWidth - region.clientWidth;
  region.toggleAttribute("data-more", over - region.scrollLeft > 1);
  const words = region.previousElementSibling;
  if (words?.matches(".more")) words.hidden = over <= 1;
}
for (const region of document.querySelectorAll(".wide")) {
  region.addEventListener("scroll", () => cue(region), {passive: true});
  more.observe(region);
}
let later;
addEventListener("resize", () => {
  clearTimeout(later);
  later = setTimeout(() => {
    for (const host of hosts)
      if (host.turn && host.clientWidth && host.clientWidth !== Number(host.dataset.width))
        draw(host);
  }, 150);
});
for (const event of ["beforeprint", "afterprint"])
  addEventListener(event, () => {
    printing = event === "beforeprint";
    for (const host of hosts) draw(host);
  });
