// Plans of the page's collections: a slider asks the server, which answers with the numbers of `stream-ldp plan`.
import { el, fill, whole } from "./draw.js";

const at = (id) => document.getElementById(id);
// A moved slider asks once it has been still for so long.
const STILL_MS = 150;
// What the reader has moved; the rest is as in the collection's file.
const moved = new Set();
let asking = new AbortController();

// The sliders of users and epsilon are of logarithms; two digits are as exact as a thumb.
const rounded = (exponent) => Number((10 ** exponent).toPrecision(2));
const value = { users: () => rounded(at("users").value), epsilon: () => rounded(at("epsilon").value), values: () => Number(at("values").value) };

function show() {
  at("users-shown").textContent = whole(value.users());
  at("epsilon-shown").textContent = moved.has("epsilon") ? `${value.epsilon()}` : at("epsilon-shown").textContent;
  at("values-shown").textContent = `${value.values()}`;
}

// Sliders that nobody has moved stand where the file has them.
function place({ epsilon, values, mechanism }) {
  at("for-epsilon").hidden = epsilon === null;
  at("for-values").hidden = values === null;
  if (epsilon) {
    at("for-epsilon").querySelector("label").textContent = epsilon.lifetime ? "Lifetime epsilon" : "Epsilon";
    if (!moved.has("epsilon") && epsilon.value !== null) at("epsilon").value = Math.log10(epsilon.value);
    at("epsilon-shown").textContent = epsilon.value === null ? "as in the file" : `${epsilon.value}`;
  }
  if (values !== null && !moved.has("values")) at("values").value = values;
  at("values-shown").textContent = `${values}`;
  at("mechanism").textContent = `mechanism: {${Object.entries(mechanism).map(([name, each]) => `${name}: ${JSON.stringify(each)}`).join(", ")}}`;
}

function section({ title, columns, rows, notes }) {
  const body = rows.length ? el("div", { class: "scroll" }, el("table", {},
    columns.length ? el("thead", {}, el("tr", {}, columns.map((each) => el("th", { scope: "col" }, each)))) : [],
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, index) => (index === 0 ? el("th", { scope: "row" }, cell) : el("td", {}, cell)))))))) : [];
  return el("figure", { class: "wide" }, el("figcaption", {}, title), body, notes.map((note) => el("p", { class: "note" }, note)));
}

async function ask() {
  asking.abort();
  asking = new AbortController();
  const query = new URLSearchParams({ users: value.users() });
  for (const name of moved) if (name !== "users") query.set(name, value[name]());
  try {
    const answer = await fetch(`v1/collections/${encodeURIComponent(at("collection").value)}/plan?${query}`, { signal: asking.signal });
    const found = await answer.json();
    if (!answer.ok) {
      // The server is busy with another reader's plan: a moment later it is not.
      if (answer.status === 503) later(1_000);
      at("state").textContent = found.detail;
      return;
    }
    place(found);
    fill(at("plan"), found.sections.map(section));
    at("state").textContent = `Plan of ${found.collection} for ${whole(value.users())} users`;
  } catch (error) {
    if (error.name !== "AbortError") at("state").textContent = "The page's server does not answer.";
  }
}

let waiting;
function later(ms) {
  clearTimeout(waiting);
  waiting = setTimeout(ask, ms);
}

for (const name of ["users", "epsilon", "values"]) {
  at(name).addEventListener("input", () => { moved.add(name); show(); later(STILL_MS); });
}
at("collection").addEventListener("change", () => { moved.clear(); location.hash = encodeURIComponent(at("collection").value); ask(); });

const { collections } = await (await fetch("v1/collections")).json();
fill(at("collection"), collections.map((name) => el("option", { value: name }, name)));
const wanted = decodeURIComponent(location.hash.slice(1));
if (collections.includes(wanted)) at("collection").value = wanted;
show();
if (collections.length) ask();
else at("state").textContent = "This page plans no collections.";
