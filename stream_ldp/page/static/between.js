// The share of users between two numbers, which the server works out of a final: fields, and what it answers.
import { el, figure, fill, spread } from "./draw.js";

// What the reader has filled in, and what the server has answered since, by its address: a redraw shows both again.
const given = new Map();
const answered = new Map();

function address(answer, ranges) {
  const query = new URLSearchParams({ since: answer.window.start_ms, until: answer.window.end_ms });
  if (answer.estimate !== undefined) query.set("series", answer.estimate);
  for (const range of ranges) query.append("between", range);
  return `v1/collections/${encodeURIComponent(answer.collection)}/answers?${query}`;
}

async function ask(url) {
  try {
    const response = await fetch(url);
    const document = await response.json();
    if (!response.ok) return el("p", { class: "warning" }, document.detail);
    if (!document.rows.length) return el("p", { class: "note" }, "The page no longer has this answer.");
    return el("dl", { class: "facts" }, document.rows.map((row) => el("div", {}, el("dt", {}, row.cell_name), el("dd", {}, spread(row.estimate, row.standard_error)))));
  } catch {
    return el("p", { class: "warning" }, "The page's server does not answer.");
  }
}

// numbers: each has an attribute and its range; a field that is empty is an end of the range. A provisional answer has
// no fields: the server is asked about finals alone.
export function between(answer, numbers) {
  if (!answer.final || !numbers.length) return [];
  const key = (attribute, end) => JSON.stringify([answer.collection, answer.estimate, attribute, end]);
  const output = el("output", {});
  let asked;
  const show = async () => {
    const ranges = numbers.flatMap(({ attribute, range }) => {
      const ends = range.map((number, end) => given.get(key(attribute, end)) || number);
      return range.every((number, end) => ends[end] === number) ? [] : [`${attribute}=${ends}`];
    });
    const url = asked = address(answer, ranges);
    if (ranges.length && !answered.has(url)) answered.set(url, await ask(url));
    // A later question may have been answered first.
    if (url === asked) fill(output, ranges.length ? [answered.get(url)] : []);
  };
  const fields = numbers.map(({ attribute, range }, place) => el("div", {}, attribute, ["from", "to"].flatMap((word, end) => {
    const id = `between-${place}-${word}`;
    const field = el("input", { id, type: "number", step: "any", placeholder: range[end], value: given.get(key(attribute, end)) ?? "" });
    field.addEventListener("input", () => given.set(key(attribute, end), field.value));
    field.addEventListener("change", () => { answered.clear(); show(); });
    return [el("label", { for: id }, ` ${word} `), field];
  })));
  show();
  return [figure("Users between two numbers", el("div", {}, el("div", { class: "controls" }, fields), output), { note: "The share of users whose number lies between, and their mean where one attribute is asked about; ± is the standard error." })];
}
