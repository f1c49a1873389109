/** The golden vectors, and the collections that they are about. */

import { readFileSync } from "node:fs";

export const golden = (name) =>
  JSON.parse(readFileSync(new URL(`../../../tests/golden/${name}.json`, import.meta.url), "utf8"));

export const SURVEY = {
  collection: "care-survey",
  mechanism: { kind: "rr-ldp", f: 0.25, p: 0.25, q: 0.75 },
  attributes: [
    { name: "bathing", values: ["no", "yes"] },
    { name: "mobility", values: ["none", "some", "full"] },
  ],
  window: { size: 60_000 },
};

export const L_2 = {
  collection: "l_2",
  mechanism: { kind: "rr-ldp", f: 0.1 },
  attributes: [
    { name: 'été "22"', values: ["a\\b", "ß/µ", "日本"] },
    { name: "month", values: Array.from({ length: 18 }, (_, i) => String(i + 1)) },
  ],
  window: { size: 3_600_000 },
};

export const K_RR = { ...SURVEY, mechanism: { kind: "k-rr", epsilon: 2 } };

export const BY_NAME = { "care-survey": SURVEY, l_2: L_2 };

export const bits = (text) => Array.from(text, Number);
