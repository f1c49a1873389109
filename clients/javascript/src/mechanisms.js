/** The mechanisms for records (docs/wire.md, sections 2 to 5). */

import { packed } from "./bytes.js";
import { costOfReports } from "./costs.js";
import { CollectionError } from "./errors.js";
import { exp, whole } from "./exact.js";
import { RESOLUTION, threshold } from "./words.js";

/** Beyond this many nats no chance of k-RR is a multiple of 2^-32: e^23 is more than 2^33. */
const MAX_EPSILON = 23;

/** Most values of an attribute by k-Subset. */
const MAX_SUBSET_SIZE = 62;

/** RR-LDP: one-hot code, permanent and then instantaneous randomised response (Chu, Long and Liu, 2022). */
export class RRLDP {
  kind = "rr-ldp";

  /** @param {{f: number, p?: number, q?: number}} spec @param {number[]} sizes number of values of each attribute */
  constructor(spec, sizes) {
    const { f } = spec;
    const [p, q] = [spec.p ?? undefined, spec.q ?? undefined];
    for (const [name, chance] of Object.entries({ f, p: p ?? 0, q: q ?? 1 })) {
      if (!(typeof chance === "number" && chance >= 0 && chance <= 1))
        throw new CollectionError(`${name} is a probability, from 0 to 1`);
    }
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

  /** Cost of the reports of attribute `j`, see `costs.js`. */
  costs() {
    const [flip, p, q] = this.thresholds;
    return { kind: "bits", flip, p, q };
  }

  /** Number of fresh words of a report. */
  get freshCount() {
    return this.hasInstantaneous ? this.bits : 0;
  }

  /** Number of keyed words of each attribute. */
  get wordCounts() {
    return this.sizes;
  }

  /** The part of the context of attribute `j` that says what the noise is. */
  noise() {
    return [this.thresholds[0]];
  }

  /** Return the bits that are permanent. @param {number[]} values @param {number[][]} words of each attribute */
  permanent(values, words) {
    return words.flatMap((own, j) => own.map((word, i) => Number((i === values[j]) !== word < this.thresholds[0])));
  }

  /** Return the reported bits. @param {number[]} permanent bits @param {number[]} words one for each bit */
  instantaneous(permanent, words) {
    if (!this.hasInstantaneous) return permanent;
    const [, p, q] = this.thresholds;
    return permanent.map((bit, i) => Number(words[i] < (bit ? q : p)));
  }

  /** Return the row of some bits. @param {number[]} bits @returns {Uint8Array} */
  pack(bits) {
    return packed(bits, Array(this.bits).fill(1), this.width);
  }

  /** Return what `times` reports of one value of attribute `j` cost, in nats, never too little; Infinity for ever. */
  cost(j, times) {
    return costOfReports(this.costs(j), times);
  }
}

/**
 * Return the least chance of each other value with which k-RR costs at most epsilon, in units of 2^-32.
 *
 * With `members`, it is that of k-Subset to begin at each place without the value. 0 where it is below one of them.
 */
function runOf(epsilon, size, members = 1) {
  const odds = BigInt(members) * exp(epsilon) + whole(size - members);
  const least = whole(RESOLUTION + members - 1);
  return least < odds ? 0 : Number((least + odds - 1n) / odds);
}

/** Return the number of members with which a set of k-Subset says most. */
function bestMembers(epsilon, size) {
  const e = exp(Math.min(epsilon, MAX_EPSILON));
  // A quotient for each number, of which the least is the one before the first that is larger.
  const above = (w) => (BigInt(w) * e + whole(size - w)) ** 2n;
  const below = (w) => BigInt(w * (size - w));
  let members = 1;
  while (members + 1 < size && above(members + 1) * below(members) < above(members) * below(members + 1)) members++;
  return members;
}

/** Return the same of the fresh noise, with which one report of what was kept with a chance costs at most epsilon. */
function freshRunOf(epsilon, size, kept, run) {
  const others = BigInt(size - 1);
  const e = exp(epsilon);
  const [one, p, q] = [RESOLUTION, kept, run].map(BigInt);
  // The numerator and denominator of docs/wire.md, section 5, in units of 2^-288.
  const beside = e * (one - q) - (one - p) * whole(1);
  const against = beside + others * (p * whole(1) - e * q);
  const a = (one * beside) / against;
  return a * BigInt(size) <= one ? 0 : Number((one - a + others - 1n) / others);
}

/** Return the number that a word makes of a value: the value itself, or one of the others, all with one chance. */
const shifted = (value, word, { kept, run, size }) =>
  word < kept ? value : (value + 1 + Math.floor((word - kept) / run)) % size;

/**
 * k-RR: the true value, or with a small chance another one, the same in every report (Wang et al., 2017).
 *
 * With `per_report`, every report perturbs that again, with noise of its own (Arcolezi et al., 2021).
 */
export class KRR {
  kind = "k-rr";

  /** @param {{epsilon: number, per_report?: number}} spec @param {number[]} sizes number of values of each attribute */
  constructor({ epsilon, per_report }, sizes) {
    const perReport = per_report ?? undefined;
    if (!isPositive(epsilon)) throw new CollectionError("epsilon must be positive and finite");
    if (perReport !== undefined && !(isPositive(perReport) && perReport < epsilon)) {
      throw new CollectionError("per_report must be positive, and below epsilon");
    }
    this.epsilon = epsilon;
    this.sizes = sizes;
    this.runs = sizes.map((size) => (epsilon > MAX_EPSILON ? 0 : runOf(epsilon, size)));
    this.kept = sizes.map((size, j) => RESOLUTION - (size - 1) * this.runs[j]);
    if (sizes.some((size, j) => !(this.runs[j] > 0 && this.runs[j] * size < RESOLUTION))) {
      throw new CollectionError("epsilon is beyond the resolution of 2^-32");
    }
    this.hasInstantaneous = perReport !== undefined;
    if (this.hasInstantaneous) {
      this.freshRuns = sizes.map((size, j) => freshRunOf(perReport, size, this.kept[j], this.runs[j]));
      this.fresh = sizes.map((size, j) => RESOLUTION - (size - 1) * this.freshRuns[j]);
      if (this.freshRuns.includes(0)) throw new CollectionError("per_report is beyond the resolution of 2^-32");
    }
    this.places = sizes.map((size) => 32 - Math.clz32(size - 1));
    this.bits = this.places.reduce((sum, count) => sum + count, 0);
    this.width = Math.ceil(this.bits / 8);
  }

  get meaning() {
    return this.hasInstantaneous ? this.kept.map((kept, j) => [kept, this.fresh[j]]) : this.kept;
  }

  /** Without `per_report`, all reports cost the epsilon which the file states. */
  costs(j) {
    if (!this.hasInstantaneous) return { kind: "answer", epsilon: this.epsilon };
    return { kind: "repeated", size: this.sizes[j], permanent: this.kept[j], fresh: this.fresh[j] };
  }

  get freshCount() {
    return this.hasInstantaneous ? this.sizes.length : 0;
  }

  get wordCounts() {
    return this.sizes.map(() => 1);
  }

  noise(j) {
    return this.hasInstantaneous ? ["k-rr", this.kept[j], this.fresh[j]] : ["k-rr", this.kept[j]];
  }

  /** Return the numbers of the values that are named for ever. @param {number[]} values @param {number[][]} words */
  permanent(values, words) {
    return values.map((value, j) =>
      shifted(value, words[j][0], { kept: this.kept[j], run: this.runs[j], size: this.sizes[j] }),
    );
  }

  /** Return the numbers that a report sends. @param {number[]} named @param {number[]} words one for each attribute */
  instantaneous(named, words) {
    if (!this.hasInstantaneous) return named;
    return named.map((number, j) =>
      shifted(number, words[j], { kept: this.fresh[j], run: this.freshRuns[j], size: this.sizes[j] }),
    );
  }

  /** Return the row of some numbers. @param {number[]} numbers @returns {Uint8Array} */
  pack(numbers) {
    return packed(numbers, this.places, this.width);
  }

  /** See `RRLDP.cost`. */
  cost(j, times) {
    return costOfReports(this.costs(j), times);
  }
}

/**
 * k-Subset: a random set of each attribute's values, the same in every report (Ye and Barg, 2018).
 *
 * The values are ordered in a circle by a word each, and one more decides where a run of `members` of them begins.
 */
export class KSubset {
  kind = "k-subset";
  freshCount = 0;
  hasInstantaneous = false;

  /** @param {{epsilon: number}} spec @param {number[]} sizes number of values of each attribute */
  constructor({ epsilon }, sizes) {
    if (!isPositive(epsilon)) throw new CollectionError("epsilon must be positive and finite");
    if (Math.max(...sizes) > MAX_SUBSET_SIZE) {
      throw new CollectionError(`k-subset is for attributes of at most ${MAX_SUBSET_SIZE} values`);
    }
    this.epsilon = epsilon;
    this.sizes = sizes;
    this.members = sizes.map((size) => bestMembers(epsilon, size));
    this.runs = sizes.map((size, j) => (epsilon > MAX_EPSILON ? 0 : runOf(epsilon, size, this.members[j])));
    this.kept = sizes.map((size, j) => RESOLUTION - (size - this.members[j]) * this.runs[j]);
    if (sizes.some((size, j) => !(this.runs[j] > 0 && this.runs[j] * size < RESOLUTION))) {
      throw new CollectionError("epsilon is beyond the resolution of 2^-32");
    }
    this.bits = sizes.reduce((sum, size) => sum + size, 0);
    this.width = Math.ceil(this.bits / 8);
  }

  get meaning() {
    return this.members.map((members, j) => [members, this.kept[j]]);
  }

  /** All reports cost the epsilon which the file states. */
  costs() {
    return { kind: "answer", epsilon: this.epsilon };
  }

  get wordCounts() {
    return this.sizes.map((size) => size + 1);
  }

  noise(j) {
    return ["k-subset", this.members[j], this.kept[j]];
  }

  /** Return the bits of the sets. @param {number[]} values @param {number[][]} words of each attribute */
  permanent(values, words) {
    return values.flatMap((value, j) => {
      const [size, members, kept] = [this.sizes[j], this.members[j], this.kept[j]];
      const word = words[j][size];
      const order = Array.from({ length: size }, (_, i) => i).sort((a, b) => words[j][a] - words[j][b] || a - b);
      const back = word < kept ? (word * members) / kept : members + (word - kept) / this.runs[j];
      const first = order.indexOf(value) - Math.floor(back) + size;
      const bits = Array(size).fill(0);
      for (let i = 0; i < members; i++) bits[order[(first + i) % size]] = 1;
      return bits;
    });
  }

  instantaneous(permanent) {
    return permanent;
  }

  /** Return the row of some bits. @param {number[]} bits @returns {Uint8Array} */
  pack(bits) {
    return packed(bits, Array(this.bits).fill(1), this.width);
  }

  /** See `RRLDP.cost`. */
  cost() {
    return this.epsilon;
  }
}

/** The numbers of buckets: primes. */
const BUCKETS = [2, 3, 5, 7, 11, 13];

/** Return the digits of a number, the lowest first. */
const digitsOf = (number, base, count) =>
  Array.from({ length: count }, (_, place) => Math.floor(number / base ** place) % base);

/**
 * k-RR of hashed values: LOLOHA for records (Arcolezi et al., 2023).
 *
 * A user has one permanent hash of each attribute, its cohort, and k-RR with fresh noise reports the bucket.
 */
export class HashedKRR extends KRR {
  kind = "hashed-k-rr";
  isHashed = true;

  /** @param {{epsilon: number, per_report: number, buckets?: number}} spec @param {number[]} sizes of each attribute */
  constructor(spec, sizes) {
    const base = spec.buckets ?? 2;
    if (!BUCKETS.includes(base)) throw new CollectionError(`buckets are one of ${BUCKETS.join(", ")}`);
    if (!isPositive(spec.per_report)) throw new CollectionError("hashed-k-rr needs per_report");
    super(
      spec,
      sizes.map((size) => Math.min(size, base)),
    );
    this.base = base;
    this.digits = sizes.map((size) => {
      let count = 1;
      while (base ** count < size) count++;
      return count;
    });
    this.cohorts = this.digits.map((count) =>
      Array.from({ length: count }, (_, place) => base ** place).flatMap((first) =>
        Array.from({ length: first }, (_, i) => digitsOf(first + i, base, count)),
      ),
    );
    this.places = this.sizes.map((size, j) => 32 - Math.clz32(this.cohorts[j].length * size - 1));
    this.bits = this.places.reduce((sum, count) => sum + count, 0);
    this.width = Math.ceil(this.bits / 8);
  }

  get meaning() {
    return this.sizes.map((size, j) => [size, this.kept[j], this.fresh[j]]);
  }

  get wordCounts() {
    return this.sizes.map((size) => 1 + size);
  }

  noise(j) {
    return ["hashed-k-rr", ...this.meaning[j]];
  }

  /** Return the cohort of attribute `j` that a word chooses. */
  #cohort(j, word) {
    const count = this.cohorts[j].length;
    const run = Math.floor(RESOLUTION / count);
    const first = RESOLUTION - (count - 1) * run;
    return word < first ? 0 : 1 + Math.floor((word - first) / run);
  }

  /** Return the buckets of values, of which each costs once. @param {number[]} values @param {number[][]} words */
  shown(values, words) {
    return values.map((value, j) => {
      const digits = digitsOf(value, this.base, this.digits[j]);
      const cohort = this.cohorts[j][this.#cohort(j, words[j][0])];
      return digits.reduce((sum, digit, place) => sum + digit * cohort[place], 0) % this.base;
    });
  }

  permanent(values, words) {
    const buckets = this.shown(values, words);
    const named = super.permanent(
      buckets,
      buckets.map((bucket, j) => [words[j][1 + bucket]]),
    );
    return named.map((number, j) => this.#cohort(j, words[j][0]) * this.sizes[j] + number);
  }

  instantaneous(symbols, words) {
    const named = symbols.map((symbol, j) => symbol % this.sizes[j]);
    return super.instantaneous(named, words).map((number, j) => symbols[j] - named[j] + number);
  }
}

const isPositive = (number) => typeof number === "number" && number > 0 && number < Infinity;

const MECHANISMS = { "rr-ldp": RRLDP, "k-rr": KRR, "k-subset": KSubset, "hashed-k-rr": HashedKRR };

/** Make the mechanism that a collection's document names. */
export const mechanismOf = (spec, sizes) => new MECHANISMS[spec.kind](spec, sizes);
