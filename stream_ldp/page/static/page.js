// The page keeps what the server sends, and draws the series that the reader has chosen.
import * as kinds from "./kinds.js";
import { anything } from "./anything.js";
import { NARROW, clock, el, epsilon, figure, fill, moment, setZone, whole, zoneName, zones } from "./draw.js";

const KEPT = 60;

const state = { collections: {}, series: new Map(), cut: "final" };
const at = (id) => document.getElementById(id);

// A series is what one link of the navigation shows: one estimate, or all phases of one item collection.
const viewOf = (answer) => kinds[state.collections[answer.collection]?.kind] ?? anything;
const nameOf = (answer) => [answer.collection, viewOf(answer).series(answer)].filter(Boolean).join("/");

function take(answer) {
  const name = nameOf(answer);
  if (!state.series.has(name)) state.series.set(name, { name, view: viewOf(answer), finals: [], open: new Map() });
  const series = state.series.get(name);
  const track = series.view.track(answer);
  if (answer.final) {
    series.finals.push(answer);
    if (series.finals.length > KEPT * 4) series.finals.shift();
    const open = series.open.get(track);
    if (open && open.window.start_ms <= answer.window.start_ms) series.open.delete(track);
  } else {
    series.open.set(track, answer);
  }
}

// An address may end with anything, also with what encodes nothing. It names a series, and after @ one of its answers.
function wanted() {
  try {
    const [name, ...key] = decodeURIComponent(location.hash.slice(1)).split("@");
    return { name, key: key.join("@") };
  } catch {
    return { name: "", key: "" };
  }
}

const chosen = () => state.series.get(wanted().name) ?? [...state.series.values()][0];

// What a series is about, in the page's words: the title of its collection, or else its name.
function titleOf(series) {
  const [collection, ...rest] = series.name.split("/");
  return [state.collections[collection]?.title ?? collection, ...rest].join(" · ");
}

const questionOf = (series) => {
  const question = state.collections[series.name.split("/")[0]]?.question;
  return question ? [el("p", { class: "question" }, question)] : [];
};

// What the lines are of, for readers who want less than all that is kept.
const HOUR_MS = 3_600_000;
const RANGES = { all: ["all windows kept", Infinity], day: ["the last day", 24 * HOUR_MS], hour: ["the last hour", HOUR_MS], minutes: ["the last ten minutes", HOUR_MS / 6] };

// What is known in a sentence, of each final that has been looked at; the server says it, as `explain` does.
const sentences = new Map();
function sentence(answer) {
  if (!answer.final || answer.status === "no-reports") return [];
  const key = `${nameOf(answer)} ${each_key(answer)}`;
  if (!sentences.has(key)) {
    sentences.set(key, []);
    const query = new URLSearchParams({ since: answer.window.start_ms, until: answer.window.end_ms });
    fetch(`v1/collections/${encodeURIComponent(answer.collection)}/sentences?${query}`).then(async (found) => {
      if (!found.ok) return;
      for (const { series, sentences: said } of (await found.json()).answers) {
        if (answer.estimate === undefined || answer.estimate === series) sentences.set(key, said.slice(0, 2));
      }
      soon();
    }, () => sentences.delete(key));
  }
  return sentences.get(key);
}

function csv(answer) {
  const query = new URLSearchParams({ since: answer.window.start_ms, until: answer.window.end_ms, format: "csv" });
  return `v1/collections/${encodeURIComponent(answer.collection)}/answers?${query}`;
}

function navigation(current) {
  const names = [...state.series.keys()].sort();
  const links = names.map((name) => {
    const link = el("a", { href: `#${encodeURIComponent(name)}` }, titleOf({ name }));
    if (name === current?.name) link.setAttribute("aria-current", "page");
    return el("li", {}, link);
  });
  const all = el("a", { href: "#overview" }, "Overview");
  if (current?.name === "overview") all.setAttribute("aria-current", "page");
  fill(at("series"), [...(names.length > 1 ? [el("li", {}, all)] : []), ...links, el("li", {}, el("a", { href: `plan#${encodeURIComponent((current?.name ?? "").split("/")[0])}` }, "Plan …"))]);
}

function answersOf(series) {
  const open = [...series.open.values()].sort((a, b) => a.window.start_ms - b.window.start_ms);
  return [...series.finals, ...open];
}

// A redraw keeps what the reader has open and where the keyboard is: both are found again by their names.
function kept(root, draw) {
  const open = new Set([...root.querySelectorAll("details[open]")].map((each) => each.dataset.name));
  const focus = root.contains(document.activeElement) ? document.activeElement.id : null;
  draw();
  for (const each of root.querySelectorAll("details")) each.open = open.has(each.dataset.name);
  if (focus) at(focus)?.focus();
}

const choices = new Map();
function choose(series, name, fallback) {
  return choices.get(`${series.name} ${name}`) ?? fallback;
}

function control(series, name, label, options, value) {
  const id = `choice-${name}`;
  const select = el("select", { id }, options.map(([key, text]) => {
    const option = el("option", { value: key }, text);
    option.selected = key === value;
    return option;
  }));
  select.addEventListener("change", () => { choices.set(`${series.name} ${name}`, select.value); draw(); });
  return el("div", {}, el("label", { for: id }, `${label} `), select);
}

function zoneControl() {
  const select = el("select", { id: "choice-zone" }, zones.map((name) => el("option", name === zoneName() ? { value: name, selected: "" } : { value: name }, name)));
  select.addEventListener("change", () => { setZone(select.value); draw(); });
  return el("div", {}, el("label", { for: "choice-zone" }, "Times in "), select);
}

// All series of all collections, each with what its last final says.
function overview() {
  const cards = [...state.series.values()].sort((a, b) => a.name.localeCompare(b.name)).map((series) => {
    const answers = answersOf(series);
    const last = series.view.settled(answers) ?? answers[answers.length - 1];
    return el("figure", {}, el("figcaption", {}, el("a", { href: `#${encodeURIComponent(series.name)}` }, titleOf(series))),
      ...questionOf(series),
      el("p", { class: "note" }, `${moment(last.window)} ${zoneName()}, ${whole(last.reports)} reports`), ...sentence(last).slice(0, 1).map((said) => el("p", {}, said)));
  });
  kept(at("answer"), () => fill(at("answer"), [el("h2", {}, "Overview"), el("div", { class: "controls" }, zoneControl()), el("div", { class: "figures" }, cards)]));
}

function draw() {
  if (wanted().name === "overview" && state.series.size && !state.series.has("overview")) {
    navigation({ name: "overview" });
    overview();
    return;
  }
  const series = chosen();
  navigation(series);
  if (!series) return;
  const answers = answersOf(series);
  const newest = answers[answers.length - 1];
  const lastFinal = series.view.settled(answers);
  const windows = [["newest", "the newest"], ["final", "the last final"],
    ...answers.filter((each) => each.final).slice(-30).reverse().map((each) => [each_key(each), moment(each.window) + series.view.label(each)])];
  const linked = wanted().name === series.name ? answers.find((each) => each_key(each) === wanted().key) : undefined;
  const picked = choose(series, "window", linked ? each_key(linked) : lastFinal ? "final" : "newest");
  const found = picked === "newest" ? newest : picked === "final" ? (lastFinal ?? newest)
    : answers.find((each) => each_key(each) === picked) ?? newest;
  const range = choose(series, "range", "all");
  const controls = el("div", { class: "controls" }, control(series, "window", "Answer", windows, picked),
    control(series, "range", "Lines of", Object.entries(RANGES).map(([key, [text]]) => [key, text]), range), zoneControl(),
    el("a", { id: "link", href: `#${encodeURIComponent(`${series.name}@${each_key(found)}`)}` }, "Link to this answer"),
    ...(found.final ? [el("a", { id: "csv", href: csv(found), download: `${found.collection}.csv` }, "CSV")] : []));
  const tools = {
    past: answers.filter((each) => each.final && series.view.track(each) === series.view.track(found)
      && each.window.start_ms <= found.window.start_ms && found.window.end_ms - each.window.end_ms < RANGES[range][1]),
    choice: (name, label, options, fallback) => {
      const value = choose(series, name, fallback);
      controls.append(control(series, name, label, options, value));
      return value;
    },
  };
  const figures = series.view.figures(found, tools);
  kept(at("answer"), () => fill(at("answer"), [
    el("h2", {}, titleOf(series)),
    ...questionOf(series),
    ...sentence(found).map((said) => el("p", { class: "said" }, said)),
    facts(found, series.view.facts(found)),
    ...warnings(found),
    controls,
    el("div", { class: "figures" }, figures, oneReport(found)),
  ]));
}

const each_key = (answer) => `${answer.window.start_ms} ${answer.phase ?? ""}`;

function facts(answer, more) {
  const all = [
    [`window (${zoneName()})`, moment(answer.window)],
    ["state", answer.final ? "final" : "provisional"],
    ["reports", whole(answer.reports)],
    ...(answer.sources ?? []).map(({ region, state, reports }) => [`region ${region}`, reports === null ? state : `${whole(reports)}, ${state}`]),
    ...more,
  ];
  const read = answer.privacy?.published;
  if (read) all.push(["(epsilon, delta)", `(${epsilon(read.epsilon)}, ${read.delta}) ${read.assumption}`]);
  return el("dl", { class: "facts" }, all.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

// A simulation has a user to show, whose record and report are no secret: each line is what it is about, ":", and the rest.
function oneReport({ collection }) {
  const known = state.collections[collection]?.one_report ?? [];
  if (!known.length) return [];
  const rows = known.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]);
  return [figure("One simulated user", el("dl", { class: "facts" }, rows.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))), { wide: true })];
}

function warnings(answer) {
  const found = [];
  if (answer.plausibility?.flagged) found.push("Implausible reports: some may be crafted, or a client may be faulty.");
  const missing = (answer.sources ?? []).filter(({ state }) => state === "cut-off").map(({ region }) => region);
  if (missing.length) found.push(`Not all reports of ${missing.join(" and ")}: cut off when the window went on.`);
  if (answer.fit && !answer.fit.certified) found.push("The solver stopped before its answer was certified.");
  return found.map((text) => el("p", { class: "warning" }, text));
}

// An answer may come many times a second; the eye needs only the last.
let waiting = false;
function soon() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; draw(); });
}

function connection(text, lost) {
  const line = at("connection");
  if (line.textContent !== text) line.textContent = text;
  line.classList.toggle("lost", lost);
}

// A browser tries again by itself, unless the server refuses it, such as one that has all the readers that it may have.
const LATER_MS = 30_000;

function listen() {
  const source = new EventSource("events");
  source.addEventListener("snapshot", (event) => {
    const { collections, answers } = JSON.parse(event.data);
    Object.assign(state, { collections, series: new Map() });
    answers.forEach(take);
    connection("Connected", false);
    soon();
  });
  source.addEventListener("answer", (event) => {
    const answer = JSON.parse(event.data);
    take(answer);
    connection(`Connected · last answer ${clock(new Date())}`, false);
    soon();
  });
  source.addEventListener("error", () => {
    connection("Connection lost; what is shown may be old. Trying again …", true);
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, LATER_MS);
  });
}

listen();
NARROW.addEventListener("change", draw);
addEventListener("resize", soon);
addEventListener("hashchange", () => { choices.delete(`${chosen()?.name} window`); draw(); at("answer").focus(); });
