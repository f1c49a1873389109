/** The mechanisms for records, and what their reports cost (docs/wire.md, sections 2 to 5 and 15). */

import { CollectionError } from "./errors.js";

const RESOLUTION = 2 ** 32;

/** Errors of exp, log, pow and the sums of a cost are below these, relative and absolute; costs are rounded up. */
const RELATIVE_ERROR = 2 ** -40;
const ABSOLUTE_ERROR = 2 ** -40;

/** Return the most by which a sum of so many costs is rounded up in all. */
export const mostRounding = (nats, costs) => 2 * (RELATIVE_ERROR * nats + ABSOLUTE_ERROR * costs);

const roundedUp = (nats) => nats * (1 + RELATIVE_ERROR) + ABSOLUTE_ERROR;

/** Return the threshold of a probability, in units of 2^-32: rounded to the nearest, halves to even. */
export function threshold(probability) {
  const exact = probability * RESOLUTION;
  const floor = Math.floor(exact);
  const rest = exact - floor;
  return floor + (rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? 1 : 0);
}

function packed(width, setBits) {
  const row = new Uint8Array(width);
  for (const bit of setBits) row[bit >> 3] |= 1 << (bit & 7);
  return row;
}

/** RR-LDP: one-hot code, permanent and then instantaneous randomised response (Chu, Long and Liu, 2022). */
export class RRLDP {
  kind = "rr-ldp";

  /** @param {{f: number, p?: number, q?: number}} spec @param {number[]} sizes number of values of each attribute */
  constructor({ f, p, q }, sizes) {
    for (const [name, chance] of Object.entries({ f, p: p ?? 0, q: q ?? 1 })) {
      if (!(chance >= 0 && chance <= 1)) throw new CollectionError(`${name} is a probability, from 0 to 1`);
    }
    this.spec = p === undefined ? { kind: this.kind, f } : { kind: this.kind, f, p, q };
    if ((p === undefined) !== (q === undefined)) throw new CollectionError("p and q belong together");
    this.sizes = sizes;
    this.hasInstantaneous = p !== undefined;
    this.thresholds = [threshold(f / 2), threshold(p ?? 0), threshold(q ?? 1)];
    if (this.thresholds[0] < 1 || this.thresholds[0] >= RESOLUTION / 2) {
      throw new CollectionError("f must be between 0 and 1, both excluded");
    }
    if (this.thresholds[1] >= this.thresholds[2]) throw new CollectionError("p must be below q");
    this.bits = sizes.reduce((sum, size) => sum + size, 0);
    this.width = Math.ceil(this.bits / 8);
  }

  get meaning() {
    return this.thresholds;
  }

  /** Number of keyed words of each attribute. */
  get wordCounts() {
    return this.sizes;
  }

  /** The part of the context of attribute `j` that says what the noise is. */
  noise() {
    return [this.thresholds[0]];
  }

  /** Return the permanent bits. @param {number[]} values @param {number[][]} words of each attribute */
  permanent(values, words) {
    return words.flatMap((own, j) => own.map((word, i) => Number((i === values[j]) !== (word < this.thresholds[0]))));
  }

  /** Return the reported bits. @param {number[]} permanent bits @param {number[]} words one for each bit */
  instantaneous(permanent, words) {
    if (!this.hasInstantaneous) return permanent;
    const [, p, q] = this.thresholds;
    return permanent.map((bit, i) => Number(words[i] < (bit ? q : p)));
  }

  /** Return the row of some bits. @param {number[]} bits @returns {Uint8Array} */
  pack(bits) {
    return packed(this.width, bits.flatMap((bit, i) => (bit ? [i] : [])));
  }

  /**
   * Return a report.
   *
   * @param {number[]} values
   * @param {number[][]} words permanent words of each attribute
   * @param {(count: number) => number[]} fresh draws words that are new in each report
   * @returns {Uint8Array}
   */
  row(values, words, fresh) {
    return this.pack(this.instantaneous(this.permanent(values, words), fresh(this.hasInstantaneous ? this.bits : 0)));
  }

  /** Return what `times` reports of one value of an attribute cost, in nats, never too little. */
  cost(_, times) {
    const h = this.thresholds[0] / RESOLUTION;
    const k = 1 - h;
    const p = this.thresholds[1] / RESOLUTION;
    const q = this.thresholds[2] / RESOLUTION;
    const u = (p / q) ** times;
    const d = ((1 - q) / (1 - p)) ** times;
    return roundedUp(Math.log((k + h * u) / (h + k * u)) + Math.log((k + h * d) / (h + k * d)));
  }
}

/** k-RR: the true value, or with a small chance another one, the same in every report (Wang et al., 2017). */
export class KRR {
  kind = "k-rr";

  /** @param {{epsilon: number}} spec @param {number[]} sizes number of values of each attribute */
  constructor({ epsilon, per_report: perReport }, sizes) {
    if (perReport !== undefined) throw new CollectionError("this client does not speak k-rr with per_report");
    if (!(epsilon > 0 && epsilon < Infinity)) throw new CollectionError("epsilon must be positive and finite");
    this.spec = { kind: this.kind, epsilon };
    this.sizes = sizes;
    this.runs = sizes.map((size) => Math.ceil(RESOLUTION / (Math.exp(epsilon) + size - 1)));
    this.kept = sizes.map((size, j) => RESOLUTION - (size - 1) * this.runs[j]);
    if (sizes.some((size, j) => this.runs[j] * size >= RESOLUTION)) {
      throw new CollectionError("epsilon is beyond the resolution of 2^-32");
    }
    this.places = sizes.map((size) => 32 - Math.clz32(size - 1));
    this.bits = this.places.reduce((sum, count) => sum + count, 0);
    this.width = Math.ceil(this.bits / 8);
  }

  get meaning() {
    return this.kept;
  }

  get wordCounts() {
    return this.sizes.map(() => 1);
  }

  noise(j) {
    return ["k-rr", this.kept[j]];
  }

  /** Return the numbers of the values that are named. @param {number[]} values @param {number[][]} words */
  sent(values, words) {
    return values.map((value, j) => {
      const beyond = words[j][0] - this.kept[j];
      return beyond < 0 ? value : (value + 1 + Math.floor(beyond / this.runs[j])) % this.sizes[j];
    });
  }

  row(values, words) {
    let start = 0;
    const set = this.sent(values, words).flatMap((number, j) => {
      const first = start;
      start += this.places[j];
      return Array.from({ length: this.places[j] }, (_, i) => i)
        .filter((i) => (number >>> i) & 1)
        .map((i) => first + i);
    });
    return packed(this.width, set);
  }

  /** Return what all reports of one value of attribute `j` cost, however many, in nats. */
  cost(j) {
    return roundedUp(Math.log(this.kept[j] / this.runs[j]));
  }
}

const MECHANISMS = { "rr-ldp": RRLDP, "k-rr": KRR };

/** Make the mechanism that a collection's document names. */
export function mechanismOf(spec, sizes) {
  const known = Object.keys(MECHANISMS);
  if (!known.includes(spec?.kind)) {
    throw new CollectionError(
      `this client speaks collections of records, with the mechanisms ${known.join(" and ")}; it does not speak ` +
        `${JSON.stringify(spec?.kind)}`,
    );
  }
  return new MECHANISMS[spec.kind](spec, sizes);
}
