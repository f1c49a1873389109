/** The chances of responses to sets are those that their estimates are made with, and no answer depends on a bias. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { RESPONSES } from "../src/kinds/sets.js";
import { Randomizer, signsOf } from "../src/randomizers.js";
import { RESOLUTION, uniform } from "../src/words.js";

const DRAWS = 20_000;

/** Standard deviations that a seeded count may be off: a true client is beyond them once in a billion counts. */
const MOST_DEVIATIONS = 6.2;

/** Words of a seed, by SplitMix32 of Steele, Lea and Flood (2014) with 32 bits: for tests alone. */
function seeded(seed) {
  let state = seed >>> 0;
  return {
    next() {
      state = (state + 0x9e3779b9) >>> 0;
      let z = state;
      z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
      z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
      return (z ^ (z >>> 15)) >>> 0;
    },
  };
}

function assertChance(count, chance, what) {
  const deviation = Math.sqrt(DRAWS * chance * (1 - chance));
  assert.ok(
    Math.abs(count - DRAWS * chance) <= MOST_DEVIATIONS * deviation,
    `${what}: ${count / DRAWS}, not ${chance}`,
  );
}

/** Of each response: the values that are held, whether an answer supports a value, and p and q of section 12. */
const CASES = {
  direct: {
    made: { epsilon: 1, size: 6, slots: 3, dummies: 3, t: 0 },
    input: 2,
    supports: (value, [sent]) => sent === value,
    chances: ({ kept, size, dummies }) => [kept / RESOLUTION, (1 - kept / RESOLUTION) / (size + dummies - 1)],
  },
  hadamard: {
    made: { epsilon: 1, size: 6, slots: 1, dummies: 0, t: 2 },
    input: 2,
    supports: (value, answer) => signsOf(answer.slice(0, 2), value) === answer[2],
    chances: ({ kept, t }) => [kept / RESOLUTION, 2 ** -t],
  },
  "set-hadamard": {
    made: { epsilon: 1, size: 6, slots: 3, dummies: 0, t: 3 },
    input: [1, 2, 5],
    supports: (value, answer) => signsOf(answer.slice(0, 3), value) === answer[3],
    chances: ({ kept, t }) => [kept / RESOLUTION, 2 ** -t],
  },
  unary: {
    made: { epsilon: 1, size: 6, slots: 1, dummies: 0, t: 0 },
    input: 2,
    supports: (value, answer) => answer[value] === 1,
    chances: ({ kept }) => [kept / RESOLUTION, 1 - kept / RESOLUTION],
  },
};

for (const [name, { made, input, supports, chances }] of Object.entries(CASES)) {
  test(`an answer by ${name} supports a value that is held, and others, as often as estimates take it to`, () => {
    const response = RESPONSES[name];
    const parameters = { ...made, kept: response.kept(made) };
    const words = seeded(29);
    const counts = Array(made.size).fill(0);
    for (let i = 0; i < DRAWS; i++) {
      const answer = response.draw(words, input, parameters);
      counts.forEach((_, value) => (counts[value] += supports(value, answer)));
    }
    const [p, q] = chances(parameters);
    counts.forEach((count, value) => assertChance(count, [input].flat().includes(value) ? p : q, `value ${value}`));
  });
}

test("numbers below a count come alike, and words that would favour some are passed over", () => {
  const words = seeded(31);
  const counts = Array(3).fill(0);
  for (let i = 0; i < DRAWS; i++) counts[uniform(words, 3)]++;
  counts.forEach((count) => assertChance(count, 1 / 3, "a number"));
  const high = [RESOLUTION - 1, 5][Symbol.iterator]();
  assert.equal(uniform({ next: () => high.next().value }, 3), 2, "2^32 - 1 is passed over");
});

test("what protects nobody is no randomizer", () => {
  const wrong = [
    ["direct", [3, 0, RESOLUTION]],
    ["direct", [3, 1, 3e9]],
    ["direct", [1, 0, 3e9]],
    ["direct", [3, 0, 1000]],
    ["direct", [3, 0]],
    ["direct", [3, 0, -1]],
    ["direct", [3, 0, 1.5]],
    ["direct", ["3", 0, 3e9]],
    ["direct", null],
    ["oue", [4, 1000]],
    ["unary", [4, RESOLUTION / 2 - 1]],
    ["k-subset", [4, 4, 3e9]],
    ["k-subset", [4, 0, 3e9]],
    ["repeated", [4, 3e9, 1e9]],
    ["bloom", [8, 0, 3e9, 0, RESOLUTION]],
    ["bloom", [8, 2, 3e9, 5, 5]],
    ["channel", [2, 2, 1, 2, 3, 4]],
    ["piecewise", [3, 1, 3e9, 5]],
    ["piecewise", [3, 1, 3e9, 5, 5]],
    ["piecewise", [3, 1, 3e9, 0, 5]],
    ["piecewise", [3, 1, 3e9, 5, 65_536]],
    ["mean-est", [33, 3e9]],
    ["unary", [2 ** 30, 3e9]],
    ["constructor", [1]],
    [3, [1]],
  ];
  for (const [kind, parameters] of wrong)
    assert.equal(Randomizer.of(kind, parameters), undefined, `${kind} ${parameters}`);
  assert.equal(Randomizer.of("channel", [2, 2, RESOLUTION, 0, 0, RESOLUTION]).loss, Infinity);
});
