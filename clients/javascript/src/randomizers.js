/** The randomizers of answers: what they draw, what a row has of it, and what it costs (docs/wire.md, 15 and 17). */

import { bitsFor } from "./bytes.js";
import { roundedUp } from "./costs.js";
import { RESOLUTION, uniform } from "./words.js";

const HALF = RESOLUTION / 2;

/** Parts of a range, of which the points of an uneven grid are multiples. */
const PARTS = 2 ** 16;

const times = (count, make) => Array.from({ length: count }, (_, i) => make(i));
const isAscending = (numbers) => numbers.every((each, i) => i === 0 || each > numbers[i - 1]);
const ones = (count) => Array(count).fill(1);

/** Send a value or, if a word is not below `kept`, one of the others, uniformly. */
const direct = (words, value, { choices, kept }) =>
  words.next() < kept ? value : (value + 1 + uniform(words, choices - 1)) % choices;

/** Return popcount(row AND value) mod 2 of each row, as one number. */
export function signsOf(rows, value) {
  return rows.reduce((signs, row, i) => {
    let bits = row & value;
    for (let shift = 16; shift > 0; shift >>= 1) bits ^= bits >>> shift;
    return signs + (bits & 1) * 2 ** i;
  }, 0);
}

/** Draw a hash under rows of its own; a value of undefined has a hash that is drawn, too (section 12). */
export function hashed(words, value, { size, t, kept }) {
  const rows = times(t, () => uniform(words, 2 ** bitsFor(size)));
  const own = value === undefined ? uniform(words, 2 ** t) : signsOf(rows, value);
  return [...rows, direct(words, own, { choices: 2 ** t, kept })];
}

export const hashedWidths = (size, t) => [...ones(t).map(() => bitsFor(size)), t];

/** Return a number of ways to choose so many places out of others. */
function binomial(places, chosen) {
  let ways = 1;
  for (let i = 0; i < chosen; i++) ways = (ways * (places - i)) / (i + 1);
  return Math.round(ways);
}

/** Return the number of vectors of signs that agree with one in more than half of the places. */
function nearVectors(signs) {
  return times(signs + 1, (agreeing) => (2 * agreeing > signs ? binomial(signs, agreeing) : 0)).reduce((a, b) => a + b);
}

function subset(words, value, { size, chosen, kept }) {
  const own = words.next() < kept;
  const found = new Set(own ? [value] : []);
  const other = (number) => (number < value ? number : number + 1);
  for (let j = size - (own ? 0 : 1) - chosen; j < size - 1; j++) {
    const drawn = other(uniform(words, j + 1));
    found.add(found.has(drawn) ? other(j) : drawn);
  }
  return times(size, (place) => Number(found.has(place)));
}

/** Draw a vector of signs on the near side of a vector, or on the other. @param {number[]} bits of the vector */
function halfSpace(words, bits, { signs, kept }) {
  const isNear = words.next() < kept;
  const near = nearVectors(signs);
  let number = uniform(words, isNear ? near : 2 ** signs - near);
  let agreeing = isNear ? Math.floor(signs / 2) + 1 : 0;
  for (; number >= binomial(signs, agreeing); agreeing++) number -= binomial(signs, agreeing);
  // The combinatorial number system: the largest place is the last whose binomial is not above the number.
  const agree = new Set();
  for (let count = agreeing, place = signs - 1; count > 0; place--) {
    if (binomial(place, count) > number) continue;
    number -= binomial(place, count--);
    agree.add(place);
  }
  return bits.map((bit, place) => (agree.has(place) ? bit : 1 - bit));
}

/** What separates the two sides of a loss, a, b and n of section 15, as ln(kept b / ((2^32 - kept) a)) n. */
const loss = (kept, [a, b], count = 1) => roundedUp(count * Math.log((kept * b) / ((RESOLUTION - kept) * a)));

/**
 * By name: the names of the parameters, of the list of those after them (`more`), and functions of them. `valid` says whether they are in order, beside what
 * holds for all; `inputs` counts the values that are perturbed; `loss` is the most that an answer costs, in nats;
 * `widths` are the bits of each number of an answer; `draw` makes an answer of words and a value; `again` makes a
 * report of an answer that is sent through fresh noise.
 */
const RANDOMIZERS = {
  direct: {
    names: ["choices", "dummies", "kept"],
    valid: ({ choices, dummies }) => choices >= 2 && dummies === 0,
    inputs: ({ choices }) => choices,
    loss: ({ choices, kept }) => loss(kept, [1, choices - 1]),
    widths: ({ choices }) => [bitsFor(choices)],
    draw: (words, value, parameters) => [direct(words, value, parameters)],
  },
  repeated: {
    names: ["choices", "kept", "fresh"],
    valid: ({ choices, fresh }) => choices >= 2 && fresh < RESOLUTION && fresh * choices > RESOLUTION,
    inputs: ({ choices }) => choices,
    loss: ({ choices, kept }) => loss(kept, [1, choices - 1]),
    cost: ({ choices, kept, fresh }) => ({ kind: "repeated", size: choices, permanent: kept, fresh }),
    widths: ({ choices }) => [bitsFor(choices)],
    draw: (words, value, parameters) => [direct(words, value, parameters)],
    again: (words, [value], { choices, fresh }) => [direct(words, value, { choices, kept: fresh })],
  },
  hadamard: {
    names: ["size", "t", "kept"],
    valid: ({ size, t }) => size >= 1 && size <= HALF && t >= 1 && t <= 16,
    inputs: ({ size }) => size,
    loss: ({ t, kept }) => loss(kept, [1, 2 ** t - 1]),
    widths: ({ size, t }) => hashedWidths(size, t),
    draw: hashed,
  },
  unary: {
    names: ["bits", "kept"],
    inputs: ({ bits }) => bits,
    loss: ({ kept }) => loss(kept, [1, 1], 2),
    widths: ({ bits }) => ones(bits),
    draw: (words, value, { bits, kept }) => times(bits, (place) => Number((place === value) !== words.next() >= kept)),
  },
  "d-bit-flip": {
    names: ["bits", "kept", "cohorts"],
    valid: ({ cohorts }) => cohorts >= 1,
    inputs: ({ bits }) => bits,
    loss: ({ bits, kept }) => loss(kept, [1, 1], Math.min(bits, 2)),
    widths: ({ bits }) => ones(bits),
    draw: (words, value, { bits, kept }) => times(bits, (place) => Number((place === value) !== words.next() >= kept)),
  },
  oue: {
    names: ["bits", "kept"],
    inputs: ({ bits }) => bits,
    loss: ({ kept }) => loss(kept, [1, 1]),
    widths: ({ bits }) => ones(bits),
    draw: (words, value, { bits, kept }) =>
      times(bits, (place) => Number(words.next() < (place === value ? HALF : RESOLUTION - kept))),
  },
  "k-subset": {
    names: ["size", "chosen", "kept"],
    valid: ({ size, chosen }) => chosen >= 1 && chosen < size,
    inputs: ({ size }) => size,
    loss: ({ size, chosen, kept }) => loss(kept, [chosen, size - chosen]),
    widths: ({ size }) => ones(size),
    draw: subset,
  },
  bloom: {
    names: ["bits", "hashes", "kept", "p", "q"],
    valid: ({ hashes, p, q }) => hashes >= 1 && p < q,
    inputs: ({ bits }) => bits,
    loss: ({ hashes, kept }) => loss(kept, [1, 1], 2 * hashes),
    cost: ({ hashes, kept, p, q }) => ({ kind: "bits", flip: RESOLUTION - kept, p, q, hashes }),
    widths: ({ bits }) => ones(bits),
    draw: (words, buckets, { bits, kept }) =>
      times(bits, (place) => Number(buckets.includes(place) !== words.next() >= kept)),
    again: (words, sent, { p, q }) =>
      p === 0 && q === RESOLUTION ? sent : sent.map((bit) => Number(words.next() < (bit ? q : p))),
  },
  piecewise: {
    names: ["steps", "wide", "kept"],
    more: "inner",
    valid: ({ steps, wide, inner }) =>
      steps >= 1 && wide >= 1 && (!inner.length || (inner.length === steps - 1 && isAscending([0, ...inner, PARTS]))),
    inputs: ({ steps }) => steps + 1,
    loss: ({ steps, wide, kept }) => loss(kept, [wide, steps]),
    widths: ({ steps, wide }) => [bitsFor(steps + wide)],
    draw: (words, point, { steps, wide, kept }) => {
      if (words.next() < kept) return [point + uniform(words, wide)];
      const drawn = uniform(words, steps);
      return [drawn < point ? drawn : drawn + wide];
    },
  },
  "mean-est": {
    names: ["signs", "kept"],
    valid: ({ signs }) => signs <= 32,
    inputs: ({ signs }) => 2 ** signs,
    loss: ({ signs, kept }) => loss(kept, [nearVectors(signs), 2 ** signs - nearVectors(signs)]),
    widths: ({ signs }) => ones(signs),
    draw: halfSpace,
  },
  channel: {
    names: ["size", "outputs"],
    more: "table",
    valid: ({ size, outputs, table }) => {
      const rows = times(size, (row) => table.slice(row * outputs, (row + 1) * outputs));
      const isShared = (row) => row.reduce((sum, chance) => sum + chance, 0) === RESOLUTION;
      return outputs >= 2 && table.length === size * outputs && rows.every(isShared);
    },
    inputs: ({ size }) => size,
    loss: ({ size, outputs, table }) => {
      const columns = times(outputs, (output) => times(size, (row) => table[row * outputs + output]));
      const sent = columns.filter((column) => column.some((chance) => chance > 0));
      return roundedUp(Math.max(...sent.map((column) => Math.log(Math.max(...column) / Math.min(...column)))));
    },
    widths: ({ outputs }) => [bitsFor(outputs)],
    draw: (words, value, { outputs, table }) => {
      let left = words.next();
      let output = 0;
      for (; left >= table[value * outputs + output]; output++) left -= table[value * outputs + output];
      return [output];
    },
  },
};

/** Most numbers of a meaning's randomizer, and most bits of an answer. */
const MAX_PARAMETER = RESOLUTION;
const MAX_BITS = 2 ** 19;

const isCount = (number) => Number.isSafeInteger(number) && number >= 0 && number <= MAX_PARAMETER;

/** A randomizer with its parameters. */
export class Randomizer {
  #of;
  #given;

  /** @param {string} kind @param {number[]} parameters as a meaning has them */
  constructor(kind, parameters) {
    this.kind = kind;
    this.#of = RANDOMIZERS[kind];
    this.#given = Object.fromEntries(this.#of.names.map((name, i) => [name, parameters[i]]));
    if (this.#of.more) this.#given[this.#of.more] = parameters.slice(this.#of.names.length);
  }

  /** Make a randomizer of what a meaning has; undefined where that is none, or none that protects anything. */
  static of(kind, parameters) {
    if (!(typeof kind === "string" && Object.hasOwn(RANDOMIZERS, kind))) return undefined;
    if (!(Array.isArray(parameters) && parameters.length && parameters.every(isCount))) return undefined;
    const { names, more, valid } = RANDOMIZERS[kind];
    const made = new Randomizer(kind, parameters);
    const isLong = more ? parameters.length >= names.length : parameters.length === names.length;
    const { kept, bits = 1, signs = 1, size = 1 } = made.parameters;
    const hasSizes = [bits, signs, size].every(
      (count) => count >= 1 && count <= (kind === "hadamard" ? HALF : MAX_BITS),
    );
    if (!(isLong && hasSizes && (valid?.(made.parameters) ?? true))) return undefined;
    // Where what is kept is less likely than what replaces it, the formula of the loss does not hold.
    return kept === undefined || (kept < RESOLUTION && made.loss >= 0) ? made : undefined;
  }

  get parameters() {
    return this.#given;
  }

  /** The grid of a `piecewise`, ascending from 0: its points, or as many as it has steps where they are even. */
  get points() {
    const { steps, inner } = this.#given;
    return inner.length ? [0, ...inner, PARTS] : times(steps + 1, (point) => point);
  }

  /** Number of inputs. */
  get inputs() {
    return this.#of.inputs(this.#given);
  }

  /** Most that an answer costs, in nats, never too little. */
  get loss() {
    return this.#of.loss(this.#given);
  }

  /** What reports cost, see `costs.js`. */
  get cost() {
    return this.#of.cost?.(this.#given) ?? { kind: "answer", epsilon: this.loss };
  }

  /** Bits of each number of an answer. */
  get widths() {
    return this.#of.widths(this.#given);
  }

  /** Make the answer that is repeated. @param {import("./words.js").Words} words @returns {number[]} */
  draw(words, value) {
    return this.#of.draw(words, value, this.#given);
  }

  /** Make a report of it, of fresh words. @param {number[]} answer @returns {number[]} */
  again(words, answer) {
    return this.#of.again?.(words, answer, this.#given) ?? answer;
  }
}
