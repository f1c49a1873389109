/** Collections of item sets, asked in the phases of epochs (docs/wire.md, sections 9 to 14). */

import { bitsFor, i64, joined, packed, toHex, u32, utf8 } from "../bytes.js";
import { Collection, fingerprintOf } from "../collection.js";
import { CollectionError, DataError } from "../errors.js";
import { exp, whole } from "../exact.js";
import { hashed, hashedWidths, signsOf } from "../randomizers.js";
import { decimalOf, given, isName, textOf } from "../values.js";
import { RESOLUTION, digestWords, keyedWords, threshold, uniform } from "../words.js";

const HALF = RESOLUTION / 2;

/** The set_size with which users are asked for it. */
const ASK = "ask";

/** Most candidates of a round, and most items. */
const MAX_ITEMS = 2 ** 24;

/** A report leaves so long before its window ends, in milliseconds, or one part in so many where that is less. */
const MARGIN_MS = 500;
const MARGIN_PART = 10;

/** Nats of a phase beyond which no chance of a response is a multiple of 2^-32: e^32 is more than 2^46. */
const MAX_EPSILON = 32;

/** Most nats that a sign may cost in a lifetime, and most bits of a hash. */
const MAX_FOR_EVER = 22;
const MAX_HASH_BITS = 8;

/** Return floor(2^32 above / below) of two positive numbers in the same unit. */
const share = (above, below) => Number((above << 32n) / below);

/**
 * The responses of section 12: `kept` of the number of values, slots and hash bits; and what a report has, made of the
 * values that are held. `held` are numbers of values below `size`; a slot beyond them has a dummy.
 */
export const RESPONSES = {
  direct: {
    kept: ({ epsilon, size, dummies }) => {
      const odds = dummies > 0 ? BigInt(dummies) * (exp(epsilon) - whole(1)) + whole(1) : exp(epsilon);
      return share(odds, odds + whole(size + dummies - 1));
    },
    widths: ({ size, dummies }) => [bitsFor(size + dummies)],
    draw: (words, value, { size, dummies, kept }) => {
      const choices = size + dummies;
      return [words.next() < kept ? value : (value + 1 + uniform(words, choices - 1)) % choices];
    },
  },
  hadamard: {
    kept: ({ epsilon, t }) => share(exp(epsilon), exp(epsilon) + whole(2 ** t - 1)),
    widths: ({ size, t }) => hashedWidths(size, t),
    draw: (words, value, { size, t, kept }) => hashed(words, value < size ? value : undefined, { size, t, kept }),
  },
  "set-hadamard": {
    kept: ({ epsilon, t, slots }) => share(exp(epsilon), whole(2 ** t - slots) + BigInt(slots) * exp(epsilon)),
    widths: ({ size, t }) => hashedWidths(size, t),
    draw: (words, held, { size, t, slots, kept }) => {
      const rows = Array.from({ length: t }, () => uniform(words, 2 ** bitsFor(size)));
      const hashes = distinctHashes(words, rows, held, slots);
      return [...rows, oneOf(words, hashes, { choices: 2 ** t, kept })];
    },
  },
  unary: {
    kept: ({ epsilon, size }) => {
      const odds = exp(size === 1 ? epsilon : epsilon / 2);
      return share(odds, odds + whole(1));
    },
    widths: ({ size }) => Array(size).fill(1),
    draw: (words, value, { size, kept }) =>
      Array.from({ length: size }, (_, place) => Number((place === value) !== words.next() >= kept)),
  },
};

/** Return the distinct hashes of values; of more than `slots` of them, so many, drawn uniformly. */
function distinctHashes(words, rows, held, slots) {
  const hashes = [...new Set(held.map((value) => signsOf(rows, value)))];
  for (let i = 0; hashes.length > slots && i < slots; i++) {
    const other = i + uniform(words, hashes.length - i);
    [hashes[i], hashes[other]] = [hashes[other], hashes[i]];
  }
  return hashes.slice(0, slots);
}

/** Send one of some hashes, with the chance `kept` for each, or otherwise one of the others; uniformly. */
function oneOf(words, hashes, { choices, kept }) {
  if (words.next() < hashes.length * kept) return hashes[uniform(words, hashes.length)];
  let number = uniform(words, choices - hashes.length);
  for (const hash of [...hashes].sort((one, other) => one - other)) if (number >= hash) number++;
  return number;
}

/** Choose the response with the least variance (section 12). */
function least({ epsilon, size, slots, asksCount }) {
  const e = Math.exp(epsilon);
  const m = asksCount ? 0 : Math.min(slots / size, 1);
  const variance = (p, q, f) => {
    const s = q + f * (p - q);
    return (s * (1 - s)) / (p - q) ** 2;
  };
  const part = asksCount ? 1 : slots;
  const [choices, odds] = asksCount ? [size, e] : [size + slots, slots * (e - 1) + 1];
  const p = odds / (odds + choices - 1);
  const bits = [1, 2, 3, 4, 5, 6, 7, 8];
  const found = [
    [part ** 2 * variance(p, (1 - p) / (choices - 1), m / part), "direct", 0],
    ...bits.map((t) => [part ** 2 * variance(e / (e + 2 ** t - 1), 2 ** -t, m / part), "hadamard", t]),
  ];
  if (!asksCount && slots > 1) {
    for (const t of bits.filter((each) => 2 ** each >= 2 * slots)) {
      found.push([variance(e / (2 ** t - slots + slots * e), 2 ** -t, m), "set-hadamard", t]);
    }
  }
  // Where variances are equal, the first is taken.
  return found.reduce((best, each) => (each[0] < best[0] ? each : best)).slice(1);
}

/** Return what each phase asks for, the share of words of its users, and its epsilon, before a sample is taken. */
function phasesOf({ kind, epsilon, split: [first, second] }) {
  const all = (each) => ["item", 0, RESOLUTION, each];
  switch (kind) {
    case "gfim": {
      const one = first >= second ? epsilon * first : epsilon - epsilon * second;
      const later = first >= second ? epsilon - one : epsilon * second;
      return [all(one), ["item", 0, HALF, later], ["item", HALF, RESOLUTION, later]];
    }
    case "gfim-users": {
      const a = threshold(first);
      const b = Math.floor((a + RESOLUTION) / 2);
      return [
        ["item", 0, a, epsilon],
        ["item", a, b, epsilon],
        ["item", b, RESOLUTION, epsilon],
      ];
    }
    case "ldpminer":
      return [all(epsilon / 2), all(epsilon / 2)];
    case "svim":
      return [
        ["item", 0, 1717986918, epsilon],
        ["count", 1717986918, HALF, epsilon],
        ["item", HALF, RESOLUTION, epsilon],
      ];
    default:
      return [all(epsilon)];
  }
}

/** Shares of words of the users who are asked about items, and how many itemsets they hold: section 9. */
const [ITEMS_END, COUNT_END] = [1717986918, 2233382994];

const MAX_ITEMSET = 4;

/** Return the phases of items and, of other users, of itemsets. */
function withItemsets(phases, epsilon, sizes) {
  const part = (word) => Number((BigInt(word) * BigInt(ITEMS_END)) >> 32n);
  return [
    ...phases.map(([asks, from, to, each]) => [asks, part(from), part(to), each]),
    ["count", ITEMS_END, COUNT_END, epsilon, sizes],
    ["item", COUNT_END, RESOLUTION, epsilon, sizes],
  ];
}

/** Words of the users who are asked how large their sets are, most classes of sizes, and most slots: section 9. */
const SIZES_END = 429496730;
const MAX_CLASSES = 8;
const MAX_SLOTS = 128;

/** Return the phase about sizes, and those of the other users. */
function withSizes(phases, epsilon) {
  const part = (word) => SIZES_END + Number((BigInt(word) * BigInt(RESOLUTION - SIZES_END)) >> 32n);
  return [
    ["size", 0, SIZES_END, epsilon],
    ...phases.map(([asks, from, to, each]) => [asks, part(from), part(to), each]),
  ];
}

/** Decide whether numbers are items, each above the one before it. */
const ascend = (numbers, count) =>
  numbers.every((item, i) => isWhole(item, i === 0 ? 0 : numbers[i - 1] + 1, count - 1));

/** Decide whether one list of numbers comes before another. */
function precedes(one, other) {
  const at = one.findIndex((each, i) => each !== other[i]);
  return at === -1 ? one.length < other.length : at < other.length && one[at] < other[at];
}

/** A round: what one phase of one epoch asks, which a report answers. */
class Round {
  constructor(collection, { epoch, phase, candidates, padding, missing }) {
    this.collection = collection;
    this.epoch = epoch;
    this.phase = phase;
    this.startMs = collection.startOf(epoch, phase);
    this.closesMs = this.startMs + collection.paneMs - Math.min(MARGIN_MS, Math.floor(collection.paneMs / MARGIN_PART));
    this.key = `${epoch}|${phase}`;
    const { asks, epsilon } = collection.phases[phase - 1];
    /** The items of each candidate, one but of itemsets; undefined where all items are. */
    this.candidates = candidates?.map((each) => [each].flat());
    this.asks = asks;
    /** Whether the candidates that a set lacks are asked for, in place of those that it holds. */
    this.missing = missing === true;
    const size = this.#values(candidates?.length ?? collection.count);
    this.parameters = { epsilon, size, slots: padding, t: 0, dummies: 0 };
    this.fingerprint =
      phase === 1
        ? collection.fingerprint
        : fingerprintOf(
            JSON.stringify([
              toHex(collection.fingerprint),
              epoch,
              phase,
              candidates ?? null,
              padding,
              ...(this.missing ? [true] : []),
            ]),
          );
    if (!collection.memoises) this.#choose();
    this.widths = collection.memoises ? [bitsFor(size), 1] : this.response.widths(this.parameters);
    this.width = Math.ceil(this.widths.reduce((sum, each) => sum + each, 0) / 8);
  }

  /** Return the number of values, one of which is perturbed. */
  #values(count) {
    if (this.asks === "size") return Math.min(MAX_CLASSES, bitsFor(count) + 1);
    return count + Number(this.asks === "count");
  }

  #choose() {
    const { kind, hashBits, asksSizes } = this.collection;
    const { parameters } = this;
    const asksCount = this.asks !== "item";
    const [name, t] =
      kind === "ldpminer" && this.phase === 2 + Number(asksSizes)
        ? ["unary", 0]
        : hashBits === undefined
          ? least({ ...parameters, asksCount })
          : ["hadamard", hashBits];
    this.kind = name;
    this.response = RESPONSES[name];
    const dummies = name === "direct" && !asksCount ? parameters.slots : 0;
    this.parameters = { ...parameters, t, dummies };
    this.parameters.kept = parameters.epsilon > MAX_EPSILON ? RESOLUTION : this.response.kept(this.parameters);
    // A report that is always true would be none.
    if (this.parameters.kept >= RESOLUTION) throw new CollectionError("epsilon is beyond the resolution of 2^-32");
  }

  /** Return the values that a set holds of what is asked about, or lacks where that is asked for, ascending. */
  restricted(items) {
    if (this.candidates === undefined) return items;
    const held = new Set(items);
    return this.candidates.flatMap((each, place) =>
      each.every((item) => held.has(item)) !== this.missing ? [place] : [],
    );
  }

  turn() {
    return this.collection.turnOf(this.epoch);
  }

  charge(items, { secret, isFresh }) {
    const { collection, phase, epoch } = this;
    const { memoises, name } = collection;
    const fingerprint = toHex(collection.fingerprint);
    const epsilon = memoises ? 0 : this.parameters.epsilon;
    const parts = memoises
      ? [
          {
            attribute: "sign of the set",
            responses: fingerprint,
            cost: collection.signCost,
            shows: joined(collection.fingerprint, Uint8Array.of(isFresh ? 0 : collection.sign(secret, items))),
          },
        ]
      : [];
    const about = [`a set, in phase ${phase}`];
    return { collection: name, about, linked: false, parts, phase: { fingerprint, phase, epoch, epsilon } };
  }

  row(items, { secret, words }) {
    if (this.collection.memoises) return this.#signRow(items, secret, words);
    const held = this.restricted(items);
    return packed(this.response.draw(words, this.#value(words, held), this.parameters), this.widths, this.width);
  }

  #value(words, held) {
    const { size, slots } = this.parameters;
    switch (this.asks) {
      case "count":
        return held.length;
      case "size":
        return Math.min(size - 1, held.length > 1 ? bitsFor(held.length) : 0);
      default:
        return this.kind === "set-hadamard" ? held : slotOf(words, held, { size, slots });
    }
  }

  /** Of a user without a secret, all is drawn afresh. */
  #signRow(items, secret, words) {
    const { chances } = this.collection;
    const source = (purpose) => (secret === undefined ? words : this.collection.purpose(secret, purpose));
    const [row, sign] = this.collection.rowAndSign(source, items);
    const kept = source(Uint8Array.of(...utf8("sign"), sign)).next() < chances[0] ? sign : 1 - sign;
    return packed([row, words.next() < chances[1] ? kept : 1 - kept], this.widths, this.width);
  }
}

/** Draw a slot of a set that is padded with dummies; return its value, which is `size` or more of a dummy. */
function slotOf(words, held, { size, slots }) {
  const slot = uniform(words, Math.max(slots, held.length));
  return slot < held.length ? held[slot] : size + slot - held.length;
}

const isWhole = (number, from, to) => Number.isSafeInteger(number) && number >= from && number <= to;

/** A collection of item sets. */
export class Kind extends Collection {
  static hasRounds = true;

  constructor(document) {
    super(document);
    const { kind, epsilon, set_size: setSize, split, hash_bits: hashBits, lifetime: lifetime } = document.mechanism;
    if (!(typeof epsilon === "number" && epsilon > 0 && epsilon < Infinity)) {
      throw new CollectionError("epsilon must be positive and finite");
    }
    const wanted = given(setSize) ?? (given(kind) === undefined ? ASK : 1);
    this.kind = given(kind) ?? (wanted === ASK || epsilon <= 2 ? "gfim-users" : "svim");
    this.memoises = this.kind === "loloha";
    this.asksSizes = wanted === ASK && !this.memoises;
    this.setSize = this.asksSizes ? 1 : wanted;
    if (!isWhole(this.setSize, 1, MAX_ITEMS)) throw new CollectionError("set_size is a whole number from 1 on, or ask");
    this.hashBits = given(hashBits);
    if (this.hashBits !== undefined && !isWhole(this.hashBits, 1, MAX_HASH_BITS)) {
      throw new CollectionError(`hash_bits is a whole number from 1 to ${MAX_HASH_BITS}`);
    }
    const shares = given(split) ?? [0.6, 0.4];
    if (!(Array.isArray(shares) && shares.length === 2 && shares.every((each) => each > 0 && each < 1))) {
      throw new CollectionError("split has two shares, above 0 and below 1");
    }
    const sample = document.sample ?? 1;
    if (!(typeof sample === "number" && sample > 0 && sample <= 1)) {
      throw new CollectionError("sample is a share of the users, above 0 and at most 1");
    }
    const part = (word) => Number((BigInt(word) * BigInt(threshold(sample))) >> 32n);
    const alone = phasesOf({ kind: this.kind, epsilon, split: shares });
    const ofItems = this.asksSizes ? withSizes(alone, epsilon) : alone;
    const sizes = this.#sizes(given(document.itemsets));
    const phases = sizes ? withItemsets(ofItems, epsilon, sizes) : ofItems;
    this.phases = phases.map(([asks, from, to, each, itemsets]) => ({
      asks,
      from: part(from),
      to: part(to),
      epsilon: each,
      sizes: itemsets,
    }));
    this.epochs = given(document.epochs) ?? "sequential";
    if (!["sequential", "pipelined"].includes(this.epochs)) {
      throw new CollectionError("epochs are sequential or pipelined");
    }
    this.#take(given(document.items) ?? {});
    if (this.memoises) this.#memoise(epsilon, given(lifetime) ?? Math.min(2 * epsilon, MAX_FOR_EVER));
    this.mean(this.#meaning());
    this.width = this.first(0).width;
  }

  /** Return the sizes of itemsets, ascending; undefined where none are asked about. */
  #sizes(itemsets) {
    if (itemsets === undefined) return undefined;
    const sizes = given(itemsets.sizes) ?? [2];
    const isRight = Array.isArray(sizes) && sizes.length > 0 && sizes.every((each) => isWhole(each, 2, MAX_ITEMSET));
    if (!isRight || this.memoises) throw new CollectionError("sizes of itemsets are from 2 to 4, and not of loloha");
    return [...new Set(sizes)].sort();
  }

  #take({ names, size }) {
    const isNamed = given(names) !== undefined;
    if (
      isNamed &&
      !(Array.isArray(names) && names.length && names.every(isName) && new Set(names).size === names.length)
    ) {
      throw new CollectionError("names of items are different texts");
    }
    this.count = isNamed ? names.length : size;
    if (!isWhole(this.count, 1, MAX_ITEMS)) throw new CollectionError("items have names, or a size");
    this.names = isNamed ? names : undefined;
    this.places = isNamed ? new Map(names.map((name, place) => [name, place])) : undefined;
  }

  /** Compute the chances of both noises of a sign (section 12, loloha). */
  #memoise(epsilon, lifetime) {
    if (!(typeof lifetime === "number" && lifetime > epsilon && lifetime <= MAX_FOR_EVER)) {
      throw new CollectionError("lifetime is above epsilon");
    }
    const odds = exp(lifetime);
    const permanent = share(odds, odds + whole(1));
    const [big, rest, one] = [BigInt(permanent), BigInt(RESOLUTION - permanent), exp(epsilon)];
    // I / (I + 1) of I = (E R - 1) / (E - R) and E = big / rest, in units of 2^-256.
    const above = big * one - whole(1) * rest;
    const below = big * whole(1) - one * rest;
    this.chances = [permanent, share(above, above + below)];
    this.signCost = { kind: "repeated", size: 2, permanent, fresh: this.chances[1] };
  }

  #meaning() {
    const phases = this.phases.map(({ asks, from, to, epsilon, sizes }) => {
      const chances = this.memoises ? `,${this.chances.join(",")}` : "";
      const itemsets = sizes ? `,${JSON.stringify(sizes)}` : "";
      return `["${asks}",${from},${to},${decimalOf(epsilon)}${chances}${itemsets}]`;
    });
    const parts = [this.setSize, this.memoises ? 1 : (this.hashBits ?? null), this.names ?? this.count, this.paneMs];
    const written = [...parts, this.epochs, ...this.turns].map((each) => JSON.stringify(each)).join(",");
    return `[${JSON.stringify(this.name)},"${this.kind}",[${phases.join(",")}],${written}]`;
  }

  /**
   * Convert a set to the numbers of its items, ascending.
   *
   * @param {Iterable<string | number>} items
   * @throws {DataError} these are no items, or one is not the collection's; the message never repeats it
   */
  encode(items) {
    if (typeof items === "string" || typeof items?.[Symbol.iterator] !== "function") {
      throw new DataError("a set is given as a list of its items");
    }
    const numbers = Array.from(items, (item) => this.#number(textOf(item, "an item of the set")));
    return [...new Set(numbers)].sort((one, other) => one - other);
  }

  #number(text) {
    if (this.places !== undefined) {
      const place = this.places.get(text);
      if (place === undefined) throw new DataError("an item of the set is not among the collection's items");
      return place;
    }
    // No other spelling is taken: with "007", an item would have two names.
    const number = Number(text);
    if (isWhole(number, 0, this.count - 1) && String(number) === text) return number;
    throw new DataError(`an item of the set is not a whole number from 0 to ${this.count - 1}`);
  }

  /** Return the event time at which the window of a phase of an epoch begins. */
  startOf(epoch, phase) {
    return ((this.epochs === "sequential" ? epoch * this.phases.length : epoch) + phase - 1) * this.paneMs;
  }

  /** Return the round of the first phase of an epoch. */
  first(epoch) {
    return new Round(this, { epoch, phase: 1, padding: this.setSize });
  }

  /**
   * List the rounds that are open at a time and ask a user.
   *
   * @param {object} user
   * @param {Uint8Array} user.secret
   * @param {number} user.timeMs
   * @param {object[]} [user.rounds] as a gateway has them; what the collection never asks is passed over
   * @returns {Round[]}
   */
  asked({ secret, timeMs, rounds = [] }) {
    const found = new Map();
    const window = this.paneOf(timeMs);
    const phases = this.phases.length;
    if (this.epochs === "pipelined" || ((window % phases) + phases) % phases === 0) {
      const first = this.first(this.epochs === "pipelined" ? window : Math.floor(window / phases));
      found.set(first.key, first);
    }
    // Of a round that is published again, the later one holds.
    for (const each of rounds) if (this.isOwn(each)) found.set(`${each.epoch}|${each.phase}`, new Round(this, each));
    return [...found.values()].filter(
      ({ epoch, phase, startMs, closesMs }) =>
        startMs <= timeMs && timeMs < closesMs && this.asks(secret, { epoch, phase }),
    );
  }

  /** Decide whether a round is one that the collection may ask: a client does not trust rounds (section 10). */
  isOwn(round) {
    const { candidates, padding, epoch, phase, epsilon, missing = false } = round ?? {};
    return (
      round?.schema_version === 1 &&
      round.collection_fingerprint === toHex(this.fingerprint) &&
      isWhole(phase, 2, this.phases.length) &&
      isWhole(epoch, -(2 ** 40), 2 ** 40) &&
      typeof epsilon === "number" &&
      epsilon > 0 &&
      epsilon <= this.phases[phase - 1].epsilon &&
      round.start_ms === this.startOf(epoch, phase) &&
      round.end_ms === round.start_ms + this.paneMs &&
      // What sets lack is asked for after a count of what they hold.
      (missing === false || (missing === true && this.phases[phase - 2].asks === "count")) &&
      this.#asksCandidates(candidates, padding, phase)
    );
  }

  /** Decide whether candidates, null for all items, and slots are those that a phase may ask about. */
  #asksCandidates(candidates, padding, phase) {
    // What follows the phase about sizes asks about all items.
    if (this.asksSizes && phase === 2) {
      return candidates === null && isWhole(padding, 1, Math.min(this.count, MAX_SLOTS));
    }
    return (
      Array.isArray(candidates) &&
      candidates.length > 0 &&
      this.#asksAbout(candidates, this.phases[phase - 1].sizes) &&
      isWhole(padding, 1, candidates.length)
    );
  }

  #asksAbout(candidates, sizes) {
    if (sizes === undefined) return ascend(candidates, this.count);
    const isItemset = (each) => Array.isArray(each) && sizes.includes(each.length) && ascend(each, this.count);
    return candidates.every((each, i) => isItemset(each) && (i === 0 || precedes(candidates[i - 1], each)));
  }

  /** Return a user's partition word of an epoch (section 11). */
  word(secret, epoch) {
    return digestWords(secret, "stream-ldp grp 1", joined(this.fingerprint, i64(epoch)), 1)[0];
  }

  /** A turn is an epoch. */
  get turnMs() {
    return this.epochs === "sequential" ? this.phases.length * this.paneMs : this.paneMs;
  }

  asks(secret, { epoch, phase }) {
    if (!this.hasTurn(secret, epoch)) return false;
    const { from, to } = this.phases[phase - 1];
    const word = this.word(secret, epoch);
    return from <= word && word < to;
  }

  /** Return the words for a purpose of what is memoised. */
  purpose(secret, purpose) {
    return keyedWords(secret, "stream-ldp lol 1", joined(this.fingerprint, purpose));
  }

  /** Return the row index and the sign of a set. @param {(purpose: Uint8Array) => import("../words.js").Words} source */
  rowAndSign(source, items) {
    const row = uniform(source(utf8("row")), 2 ** bitsFor(this.count));
    const words = source(joined(utf8("set"), ...items.map(u32)));
    const value = slotOf(words, items, { size: this.count, slots: this.setSize });
    return [row, value < this.count ? signsOf([row], value) : uniform(words, 2)];
  }

  /** Return the sign of a user's set. */
  sign(secret, items) {
    return this.rowAndSign((purpose) => this.purpose(secret, purpose), items)[1];
  }
}
