/** Collections of records, read from the document that the gateway serves. */

import { blake2b } from "./blake2b.js";
import { digestOf, i64, joined, u32, wordsOf } from "./bytes.js";
import { CollectionError, DataError } from "./errors.js";
import { checkKind, mechanismOf, threshold } from "./mechanisms.js";

const FINGERPRINT_BYTES = 16;
const MAX_PRECISION_MS = 60_000;
const PRECISION_PART = 10;
const RESOLUTION = 2 ** 32;
const BLOCK_BYTES = 64;
export const PSEUDONYM_BYTES = 8;

/** Most bytes of a row: its width has two bytes in a batch. */
const MAX_WIDTH = 2 ** 16 - 1;

/** Length of a name, and what it may not hold: control characters, and halves of a pair, which UTF-8 does not have. */
const MAX_NAME = 200;
const isName = (text) =>
  typeof text === "string" && /^[^\0-\x1f]+$/.test(text) && [...text].length <= MAX_NAME && text.isWellFormed();

const isDuration = (number) => Number.isSafeInteger(number) && number > 0;

/** Return what stands in a document, where null stands for what is left out. */
const given = (value) => value ?? undefined;

/** A collection: what a record is, how it is perturbed, and the fingerprint of that. Made by `Collection.of`. */
export class Collection {
  /**
   * Read a collection.
   *
   * @param {object} document as a gateway serves it at /v1/collections/NAME/document
   * @returns {Promise<Collection>}
   * @throws {CollectionError} it is no collection of records, or something in it is wrong
   */
  static async of(document) {
    const made = new Collection(document);
    const noise = made.attributes.map((each, j) => [made.name, each.name, each.values, ...made.mechanism.noise(j)]);
    /** Context of each attribute (docs/wire.md, section 3), 32 bytes. */
    made.contexts = await Promise.all(noise.map(digestOf));
    made.fingerprint = (await digestOf(made.meaning)).subarray(0, FINGERPRINT_BYTES);
    return made;
  }

  constructor(document) {
    const spec = given(document?.mechanism);
    checkKind(spec);
    this.name = document.collection;
    if (!isName(this.name)) throw new CollectionError("a collection has a name");
    this.attributes = attributesOf(document.attributes);
    this.mechanism = mechanismOf(
      spec,
      this.attributes.map(({ values }) => values.length),
    );
    const window = document.window ?? {};
    this.paneMs = window.hop ?? window.size;
    if (!isDuration(this.paneMs)) throw new CollectionError("the window has no size in milliseconds");
    this.precisionMs =
      window.time_precision ?? Math.min(Math.max(1, Math.floor(this.paneMs / PRECISION_PART)), MAX_PRECISION_MS);
    if (!(isDuration(this.precisionMs) && this.precisionMs <= this.paneMs)) {
      throw new CollectionError("time_precision is a number of milliseconds, at most those of a window");
    }
    const sample = document.sample ?? 1;
    if (!(typeof sample === "number" && sample > 0 && sample <= 1)) {
      throw new CollectionError("sample is a share of the users, above 0 and at most 1");
    }
    this.askingWords = threshold(sample);
    this.linkedMs = given(document.linked);
    if (this.linkedMs !== undefined) this.#checkLinked();
    /** Bytes of a report. */
    this.width = this.mechanism.width + (this.linkedMs === undefined ? 0 : PSEUDONYM_BYTES);
    if (this.width > MAX_WIDTH) {
      throw new CollectionError(`a report has at most ${MAX_WIDTH} bytes, not ${this.width}`);
    }
  }

  #checkLinked() {
    // A pane that is not of one period would have two pseudonyms of a user, and show that they are.
    if (!(isDuration(this.linkedMs) && this.linkedMs % this.paneMs === 0)) {
      throw new CollectionError("linked is a whole number of windows, in milliseconds");
    }
    if (!(this.mechanism.kind === "rr-ldp" && this.mechanism.hasInstantaneous)) {
      throw new CollectionError("linked needs rr-ldp with p and q");
    }
  }

  /** What the fingerprint is made of. */
  get meaning() {
    const values = this.attributes.map((each) => [each.name, each.values]);
    const sample = this.askingWords < RESOLUTION ? [this.askingWords, this.paneMs] : [];
    const linked = this.linkedMs === undefined ? [] : [["linked", this.linkedMs]];
    return [this.name, this.mechanism.kind, this.mechanism.meaning, values, ...sample, ...linked];
  }

  /**
   * Convert a record to the numbers of its values.
   *
   * @param {Record<string, string | number>} record gives every attribute one of its values; where an attribute has
   *   bins, a number; where it has a value for what is missing, null or "" stand for that, and where it has one for all
   *   others, so does whatever else
   * @returns {number[]}
   * @throws {DataError} the message never repeats a value
   */
  encode(record) {
    if (record === null || typeof record !== "object") throw new DataError("a record has a value for each attribute");
    const known = this.attributes.map(({ name }) => name);
    const unknown = Object.keys(record).find((name) => !known.includes(name));
    if (unknown !== undefined) throw new DataError(`"${unknown}" is not an attribute of collection "${this.name}"`);
    return this.attributes.map((attribute) => {
      if (!Object.hasOwn(record, attribute.name)) throw new DataError(`attribute "${attribute.name}" is missing`);
      return numberOf(record[attribute.name], attribute);
    });
  }

  /**
   * Return the permanent words of each attribute of a record (docs/wire.md, section 3).
   *
   * @param {Uint8Array} secret 32 bytes
   * @param {number[]} values
   * @returns {number[][]}
   */
  permanentWords(secret, values) {
    return this.mechanism.wordCounts.map((count, j) => {
      const blocks = Array.from({ length: Math.ceil((4 * count) / BLOCK_BYTES) }, (_, i) =>
        blake2b(joined(this.contexts[j], u32(values[j]), u32(i)), {
          key: secret,
          person: "stream-ldp prr 1",
          length: Math.min(BLOCK_BYTES, 4 * count - BLOCK_BYTES * i),
        }),
      );
      return wordsOf(joined(...blocks));
    });
  }

  /** Decide whether the user with a secret is asked at a time; the same in all of a pane. */
  asks(secret, timeMs) {
    return this.askingWords === RESOLUTION || this.askingWord(secret, this.paneOf(timeMs)) < this.askingWords;
  }

  /** Return the word that decides whether a user is asked in a pane. */
  askingWord(secret, pane) {
    const data = joined(this.fingerprint, i64(pane));
    return wordsOf(blake2b(data, { key: secret, person: "stream-ldp grp 1", length: 4 }))[0];
  }

  /** Return the pseudonym of a user in the period of a time (docs/wire.md, section 5), 8 bytes. */
  pseudonym(secret, timeMs) {
    const data = joined(this.fingerprint, i64(Math.floor(timeMs / this.linkedMs)));
    return blake2b(data, { key: secret, person: "stream-ldp lnk 1", length: PSEUDONYM_BYTES });
  }

  /** Return the number of the pane that a time is in. */
  paneOf(timeMs) {
    return Math.floor(timeMs / this.paneMs);
  }

  /** Return the event time that is written for a time: rounded down within its pane. */
  rounded(timeMs) {
    return timeMs - ((timeMs - this.paneOf(timeMs) * this.paneMs) % this.precisionMs);
  }
}

/** Check the attributes of a document, which may be anything. */
function attributesOf(attributes) {
  if (!(Array.isArray(attributes) && attributes.length > 0)) {
    throw new CollectionError("a collection has at least one attribute");
  }
  const names = new Set();
  for (const attribute of attributes) {
    const { name, values, bins, missing, other, clip } = attribute ?? {};
    if (!isName(name)) throw new CollectionError("an attribute has a name");
    if (names.has(name)) throw new CollectionError(`two attributes have the name "${name}"`);
    names.add(name);
    if (!(Array.isArray(values) && values.length >= 2 && values.every(isName))) {
      throw new CollectionError(`attribute "${name}" needs at least 2 values, each of them a text`);
    }
    if (new Set(values).size < values.length) throw new CollectionError(`attribute "${name}" has a value twice`);
    for (const [label, what] of [[missing, "what is missing"], [other, "all others"]]) {
      if (given(label) !== undefined && !values.includes(label)) {
        throw new CollectionError(`attribute "${name}" has a value for ${what} that is not among its values`);
      }
    }
    if (!["boolean", "undefined"].includes(typeof given(clip))) throw new CollectionError("clip is true or false");
    if (given(bins) !== undefined) checkBins(name, bins, values.filter((each) => ![missing, other].includes(each)).length);
  }
  return attributes;
}

function checkBins(name, bins, count) {
  const edges = Array.isArray(bins) ? bins.map(edge) : [];
  const isAscending = edges.every((each, i) => !Number.isNaN(each) && (i === 0 || edges[i - 1] < each));
  if (!(isAscending && edges.length === count + 1)) {
    throw new CollectionError(`attribute "${name}" needs ascending bins, one more than it has values for them`);
  }
}

function numberOf(value, { name, values, bins, clip, missing, other }) {
  if (value === null || value === undefined || value === "" || Number.isNaN(value)) {
    if (given(missing) === undefined) throw new DataError(`attribute "${name}" has no value, and none for what is missing`);
    return values.indexOf(missing);
  }
  const among = ["string", "number"].includes(typeof value) ? values.indexOf(String(value)) : -1;
  if (among !== -1) return among;
  const number = typeof value === "string" && DECIMAL.test(value) ? Number(value) : value;
  const bin = given(bins) !== undefined && typeof number === "number" ? binOf(number, bins.map(edge), clip ?? true) : -1;
  if (bin !== -1) return bin;
  if (given(other) !== undefined) return values.indexOf(other);
  if (given(bins) !== undefined && typeof number === "number") throw new DataError(`attribute "${name}": the number is in none of its bins`);
  throw new DataError(`attribute "${name}" does not have the given value; it has ${values.join(", ")}`);
}

const DECIMAL = /^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?$/i;

const INFINITE = new Map([["inf", Infinity], ["-inf", -Infinity]]);

const edge = (bin) => INFINITE.get(bin) ?? (typeof bin === "number" ? bin : NaN);

/**
 * Return the number of the bin that holds a number, or -1: bins lack their upper ends, but for the last.
 *
 * @param {boolean} clip whether the first and the last bin hold what is beyond them, too
 */
function binOf(number, edges, clip) {
  const [least, largest] = [edges[0], edges.at(-1)];
  if (!clip && !(least <= number && number <= largest)) return -1;
  return Math.min(Math.max(edges.findLastIndex((each) => each <= number), 0), edges.length - 2);
}
