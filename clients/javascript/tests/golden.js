/** The golden vectors, and the collections that they are about. */

import { readFileSync } from "node:fs";

export const golden = (name) =>
  JSON.parse(readFileSync(new URL(`../../../tests/golden/${name}.json`, import.meta.url), "utf8"));

const FILES = golden("collections");

/** Collection files by name, with the durations of a file. */
export const fileOf = (name, changes = {}) => ({ ...FILES[name], ...changes });

export const SURVEY = fileOf("care-survey");
export const L_2 = fileOf("l_2");
export const K_RR = { ...SURVEY, mechanism: { kind: "k-rr", epsilon: 2 } };

export const bits = (text) => Array.from(text, Number);

/** Words in a list, as a source; it fails where there are no more. */
export function listed(words) {
  let at = 0;
  return {
    next() {
      if (at === words.length) throw new Error("no more words are given");
      return words[at++];
    },
    get left() {
      return words.length - at;
    },
  };
}
