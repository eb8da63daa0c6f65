// Ask the service what is going on, and show it; again every two seconds while somebody looks.
const EVERY = 2000, PATIENCE = 15000, MOST_VERSIONS = 40, LOOKS = 8;
const look = k => `var(--look-${k % LOOKS})`;
const lastLook = "var(--look-8)";
let paused = false, fresh = null, concerned = null, asking = false;

class Refused extends Error {}

async function ask(path) {
  const token = sessionStorage.getItem("lumpable token");
  const headers = {Accept: "application/json"};
  if (token) headers.Authorization = `Bearer ${token}`;
  const answer = await fetch(path, {headers, signal: AbortSignal.timeout(PATIENCE)});
  if (answer.status === 401) throw new Refused(token ? "Nobody knows this token." : "");
  if (answer.status === 403) throw new Refused("This token does not have the role read.");
  if (!answer.ok) throw new Error(String(answer.status));
  return exact(await answer.text());
}

// --- What is going on ----------------------------------------------------------------------------

function showHealth(health) {
  const now = JSON.stringify(health.concerns);
  if (now === concerned) return;
  const first = concerned === null;
  concerned = now;
  const boxes = health.concerns.map(concern => {
    const box = make("p", "", "concern");
    box.append(make("strong", concern.what), concern.do);
    return box;
  });
  one("health").replaceChildren(...(boxes.length ? boxes : [make("p", "All is well.", "fine")]));
  if (!first || boxes.length)
    say("said", boxes.length ? `Concerns: ${health.concerns.map(one => one.what).join("; ")}`
      : "All is well again.");
}

function showTiles(status, worth) {
  const e = status.experiment;
  const more = worth.difference === null ? NOTHING
    : `${worth.difference > 0 ? "+" : ""}${number(worth.difference)}`;
  const tiles = [
    [whole(e.decisions), "decisions"], [whole(e.rewards), "rewards"],
    [whole(e.waiting), "wait for rewards"], [whole(e.users), "users with outcomes"],
    [whole(e.arms.length), "arms"],
    [more, worth.difference === null ? "against the hold-back"
      : `against the hold-back (${range(worth.low, worth.high)})`],
  ];
  one("tiles").replaceChildren(...tiles.map(([value, name]) => {
    const tile = make("li");
    tile.append(make("b", value), make("span", name));
    return tile;
  }));
}

function showTraffic(going) {
  const kinds = [["decisions", look(0)], ["rewards", look(1)]];
  const last = going.spans.length - 1;
  const long = k => k < last ? going.span_minutes  // the last one is not over yet
    : Math.min(going.span_minutes, Math.max(going.now - going.spans[k].at, 15) / 60);
  const tells = k => k < last || k === 0 || long(k) > going.span_minutes / 4;
  const rows = going.spans.filter((_, k) => tells(k)).flatMap((span, k) => kinds.map(([what, colour]) => ({
    at: 1000 * span.at, what, rate: span[what] / long(k), look: colour,
    words: `${day(span.at)}\n${number(span[what] / long(k))} ${what} per minute`,
  })));
  key("traffic", kinds);
  say("words-traffic", `By the time of each, in spans of ${going.span_minutes} min.`);
  table("table-traffic", [["from"], ["decisions", true], ["rewards", true]],
    going.spans.map(span => [day(span.at), whole(span.decisions), whole(span.rewards)]).reverse());
  const total = what => whole(going.spans.reduce((sum, span) => sum + span[what], 0));
  return picture("traffic", {spans: rows}, `Decisions and rewards per minute: ${total("decisions")} `
    + `decisions and ${total("rewards")} rewards in all of the time shown.`);
}

function showWorth(going) {
  const kinds = [["learner", "the learner", look(0)], ["held_back", "held back", look(1)]];
  say("worth", going.worth.words);
  const rows = kinds.flatMap(([field, who, colour]) => going.compared
    .filter(span => span[field].mean !== null).map(span => {
      const {outcomes, mean, low, high} = span[field];
      return {at: 1000 * span.at, who, mean, low, high, look: colour,
        words: `${day(span.at)}, ${who}\n${number(mean)} (${range(low, high)}), `
          + `${whole(outcomes)} outcomes`};
    }));
  key("worth", kinds.filter(([field]) => going.worth[field].outcomes)
    .map(([, who, colour]) => [who, colour]));
  const line = (name, part) =>
    [name, whole(part.outcomes), number(part.mean), range(part.low, part.high)];
  table("table-worth", [["who decided, and when"], ["outcomes", true], ["mean", true],
    ["90 % interval", true]],
  [...kinds.map(([field, who]) => line(`${who}, all the time`, going.worth[field])),
    ...going.compared.flatMap(span => kinds.filter(([field]) => span[field].outcomes)
      .map(([field, who]) => line(`${who}, from ${day(span.at)}`, span[field]))).reverse()]);
  return picture("worth", {means: rows}, going.worth.words, "No decision has an outcome yet.");
}

function showUnusual(going) {
  const about = {
    late: "Rewards of after the window; they do not count.",
    predated: "Rewards dated before their decision, by more than the window; they do not count.",
    early: "Rewards that wait for their decision, as they came before it.",
    orphan: "Rewards whose event nobody decided while the window was open.",
    repeated: "Further rewards of an event that has one.",
    sent_again: "The same reward once more, since the service started; it changes nothing.",
    defaulted: "Decisions whose window closed without a reward; the default counts.",
    missed: "Decisions whose window closed without a reward; they tell nothing.",
  };
  table("table-unusual", [["what"], ["how many", true], ["what it means"]],
    Object.entries(about).map(([name, words]) => [name.replace("_", " "),
      whole(going.unusual[name]), {text: words, kind: "name"}]));
}

function showVersions(going) {
  const shown = going.versions.slice(-MOST_VERSIONS);
  const arms = new Map();  // best arms, the latest first: each a colour
  for (const version of [...shown].reverse())
    for (const arm of version.best_arms) if (!arms.has(arm)) arms.set(arm, arms.size);
  const names = labels([...arms.keys()]);
  const named = arm => arm === null ? "no arm" : names[arms.get(arm)];
  const colour = arm => arms.get(arm) < LOOKS ? look(arms.get(arm)) : lastLook;
  const rows = shown.flatMap(version => version.sizes.map((size, place) => ({
    version: version.version, place, size, look: colour(version.best_arms[place]),
    words: `version ${version.version}, ${day(version.at)}\n${whole(size)} users, best: `
      + named(version.best_arms[place]),
  })));
  key("versions", [...arms.keys()].slice(0, LOOKS).map(arm => [named(arm), colour(arm)])
    .concat(arms.size > LOOKS ? [["others", lastLook]] : []));
  table("table-versions", [["version"], ["adopted"], ["groups", true], ["users and best arm of each"]],
    [...shown].reverse().map(version => [String(version.version), day(version.at),
      whole(version.sizes.length), {kind: "name", text: version.sizes
        .map((size, k) => `${whole(size)}: ${named(version.best_arms[k])}`).join("; ")}]));
  const last = shown.at(-1);
  return picture("versions", {versions: rows}, last ? `Version ${last.version} has `
    + `${last.sizes.length} groups of ${last.sizes.map(whole).join(", ")} users.` : "",
  "No fit was adopted yet: the first comes after ten rewards.");
}

// --- What is believed -----------------------------------------------------------------------------

function members({size, size_low: low, size_high: high}) {
  return low === high ? whole(size) : `${whole(size)} (${whole(low)} to ${whole(high)})`;
}

function showArms(groups) {
  const name = labels(groups.flatMap(group => group.arms.map(row => row.arm)));
  const flat = groups.flatMap(group => group.arms.map(row => ({...row, group})));
  const rows = flat.map((row, k) => ({
    row: `group ${row.group.group}: ${name[k]}`, mean: row.mean, low: row.low, high: row.high,
    look: look(row.group.group), strength: 0.25 + 0.75 * row.probability_best,
    words: `group ${row.group.group}: ${name[k]}\n${number(row.mean)} `
      + `(${range(row.low, row.high)})\nbest with ${chance(row.probability_best)}`,
  }));
  const begins = k => flat[k] === flat.find(row => row.group === flat[k].group);
  table("table-arms", [["group"], ["users", true], ["arm"], ["mean reward", true],
    ["90 % interval", true], ["P(best)", true], ["share of decisions", true]],
  flat.map((row, k) => [
    begins(k) ? `group ${row.group.group}` : "",
    begins(k) ? members(row.group) : "",
    {text: name[k], kind: "name"}, number(row.mean), range(row.low, row.high),
    chance(row.probability_best),
    row.share === null ? NOTHING : {text: percent(row.share), kind: "number", share: row.share},
  ]), begins);
  return picture("arms", {arms: rows}, `Best arms: ${flat.map((row, k) => begins(k)
    ? `group ${row.group.group}: ${name[k]} with ${number(row.mean)}` : "").filter(Boolean)
    .join("; ")}.`);
}

function showMatrix(matrix) {
  const arms = labels(matrix.arms);
  let top = 0;
  const cells = [], groups = [];
  for (const {group, contexts, means} of matrix.rows) {
    const bottom = top + contexts, users = contexts === 1 ? "1 user" : `${whole(contexts)} users`;
    if (groups.at(-1)?.group !== `group ${group}`) groups.push({group: `group ${group}`, top});
    Object.assign(groups.at(-1), {bottom, middle: (groups.at(-1).top + bottom) / 2});
    means.forEach((mean, k) => { if (mean !== null) cells.push({
      arm: arms[k], top, bottom, mean,
      words: `group ${group}, ${users}\n${arms[k]}: ${number(mean)}`}); });
    top = bottom;
  }
  const most = Math.max(1, ...matrix.rows.map(row => row.contexts));
  say("words-matrix", `Mean reward of ${most > 1 ? `up to ${whole(most)} users of a group a row`
    : "each user, one a row"}: ${whole(top)} users in ${matrix.rows.length} rows, `
    + `${arms.length} of ${whole(matrix.arms_in_all)} arms (the best of each group, then those with `
    + "most rewards). Blank: no reward. Within a group, the surest members come first.");
  table("table-matrix", [["group"], ["users", true], ...arms.map(arm => [arm, true])],
    matrix.rows.map(row => [`group ${row.group}`, whole(row.contexts), ...row.means.map(number)]));
  return picture("matrix", {cells, groups}, `Mean rewards of ${arms.length} arms for `
    + `${whole(top)} users in ${groups.length} groups.`, "No reward has come yet.");
}

function showUsers({doubtful_in_all: all, doubtful: rows}) {
  const names = labels(rows.map(row => row.context)), arms = labels(rows.map(row => row.best_arm));
  say("doubt", all === null ? "While no groups are identified, nobody is a doubtful member of one."
    : all === 0 ? "Nobody: everybody's likeliest group has a probability of at least 95 %."
    : `${whole(all)} ${all === 1 ? "user has" : "users have"} a likeliest group with less than 95 %. `
      + `${all > rows.length ? `The ${rows.length} least sure: a` : "A"} few rewards more tell where `
      + "they belong.");
  one("table-users").closest(".wide").hidden = rows.length === 0;
  table("table-users", [["user"], ["rewards", true], ["likeliest group"], ["or"], ["best arm"]],
    rows.map((row, k) => [names[k], whole(row.rewards),
      `group ${row.group} (${chance(row.probability)})`,
      `group ${row.other} (${chance(row.other_probability)})`, {text: arms[k], kind: "name"}]));
}

async function showBeliefs(now) {
  say("learned", now.summary);
  say("basis", `By ${whole(now.rewards)} outcomes of ${whole(now.users)} users, version `
    + `${now.version}; as of ${clock(now.at)}.`);
  showUsers(now.glance);
  await showArms(now.glance.groups);
  await showMatrix(now.glance.matrix);
}

// --- Again and again --------------------------------------------------------------------------------

function state(text, lost = false) {
  one("stage").parentElement.classList.toggle("lost", lost);
  if (lost && one("stage").textContent !== text) say("said", text);
  say("stage", text);
}

function askForToken(words) {
  if (!one("token-form").hidden && !words) return;
  one("all").hidden = true;
  one("token-form").hidden = false;
  say("token-wrong", words);
  state("closed");
  one("token").focus();
}

async function lookAgain() {
  const health = await ask("/health");
  const [going, status] = await Promise.all([ask("/activity"), ask("/status")]);
  one("token-form").hidden = true;
  one("all").hidden = false;
  showHealth(health);
  showTiles(status, going.worth);
  showUnusual(going);
  await Promise.all([showWorth(going), showTraffic(going), showVersions(going)]);
  if (fresh !== status.experiment.entries) {
    const now = await ask("/beliefs");
    fresh = now.entries;
    await showBeliefs(now);
  }
  state(`as of ${clock(going.now)}`);
  document.body.dataset.entries = status.experiment.entries;  // all of the page is of these
}

async function turn() {
  if (asking) return;
  asking = true;
  try {
    await lookAgain();
  } catch (error) {
    if (error instanceof Refused) {
      sessionStorage.removeItem("lumpable token");
      askForToken(error.message);
    } else if (error.message === "503") state("the service is not ready yet");
    else if (error instanceof TypeError || error.name === "TimeoutError")
      state("the service does not answer", true);
    else { state("something went wrong here", true); throw error; }
  } finally {
    asking = false;
  }
}

one("pause").addEventListener("click", () => {
  paused = !paused;
  one("pause").setAttribute("aria-pressed", paused);
  if (!paused) turn();
});
one("token-form").addEventListener("submit", event => {
  event.preventDefault();
  sessionStorage.setItem("lumpable token", one("token").value.trim());
  one("token").value = "";
  turn();
});
document.addEventListener("visibilitychange", () => { if (!document.hidden && !paused) turn(); });
setInterval(() => {
  if (!document.hidden && !paused && one("token-form").hidden) turn();
}, EVERY);
turn();
