// The page keeps what the server sends, and draws the series that the reader has chosen.
import * as kinds from "./kinds.js";
import { anything } from "./anything.js";
import { NARROW, el, epsilon, figure, fill, moment, clock, whole } from "./draw.js";

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

// An address may end with anything, also with what encodes nothing.
function wanted() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";
  }
}

const chosen = () => state.series.get(wanted()) ?? [...state.series.values()][0];

function navigation(current) {
  const names = [...state.series.keys()].sort();
  fill(at("series"), names.map((name) => {
    const link = el("a", { href: `#${encodeURIComponent(name)}` }, name.replace("/", " · "));
    if (name === current?.name) link.setAttribute("aria-current", "page");
    return el("li", {}, link);
  }));
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

function draw() {
  const series = chosen();
  navigation(series);
  if (!series) return;
  const answers = answersOf(series);
  const newest = answers[answers.length - 1];
  const lastFinal = series.view.settled(answers);
  const windows = [["newest", "the newest"], ["final", "the last final"],
    ...answers.filter((each) => each.final).slice(-30).reverse().map((each) => [each_key(each), moment(each.window) + series.view.label(each)])];
  let wanted = choose(series, "window", lastFinal ? "final" : "newest");
  const found = wanted === "newest" ? newest : wanted === "final" ? (lastFinal ?? newest)
    : answers.find((each) => each_key(each) === wanted) ?? newest;
  const controls = el("div", { class: "controls" }, control(series, "window", "Answer", windows, wanted));
  const tools = {
    past: answers.filter((each) => each.final && series.view.track(each) === series.view.track(found) && each.window.start_ms <= found.window.start_ms),
    choice: (name, label, options, fallback) => {
      const value = choose(series, name, fallback);
      controls.append(control(series, name, label, options, value));
      return value;
    },
  };
  const figures = series.view.figures(found, tools);
  kept(at("answer"), () => fill(at("answer"), [
    el("h2", {}, series.name.replace("/", " · ")),
    facts(found, series.view.facts(found)),
    ...warnings(found),
    controls,
    el("div", { class: "figures" }, figures, oneReport(found)),
  ]));
}

const each_key = (answer) => `${answer.window.start_ms} ${answer.phase ?? ""}`;

function facts(answer, more) {
  const all = [
    ["window (UTC)", moment(answer.window)],
    ["state", answer.final ? "final" : "provisional"],
    ["reports", whole(answer.reports)],
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
  const source = new EventSource("/events");
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
addEventListener("hashchange", () => { draw(); at("answer").focus(); });
