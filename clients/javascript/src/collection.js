/** Collections of records, read from the document that the gateway serves. */

import { blake2b } from "./blake2b.js";
import { digestOf, i64, joined, u32, wordsOf } from "./bytes.js";
import { CollectionError, DataError } from "./errors.js";
import { mechanismOf, threshold } from "./mechanisms.js";

const FINGERPRINT_BYTES = 16;
const MOST_PRECISION_MS = 60_000;
const PRECISION_PART = 10;
const RESOLUTION = 2 ** 32;
const BLOCK_BYTES = 64;

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
    this.name = document?.collection;
    // A collection of another kind has other attributes, so its mechanism is looked at first.
    const attributes = Array.isArray(document?.attributes) ? document.attributes : [];
    this.mechanism = mechanismOf(
      document?.mechanism,
      attributes.map(({ values }) => values?.length ?? 0),
    );
    if (typeof this.name !== "string" || attributes.length === 0) {
      throw new CollectionError("a collection has a name and at least one attribute");
    }
    if (document.linked !== undefined && document.linked !== null) {
      throw new CollectionError(
        `collection ${this.name} links the reports of a user by pseudonyms, which this client does not make: ` +
          "report to it with the Python package",
      );
    }
    for (const { name, values } of attributes) {
      if (!(values?.length >= 2)) throw new CollectionError(`attribute ${name} needs at least 2 values`);
    }
    this.attributes = attributes;
    this.paneMs = document.window?.hop ?? document.window?.size;
    if (!(Number.isSafeInteger(this.paneMs) && this.paneMs > 0)) {
      throw new CollectionError("the window has no size in milliseconds");
    }
    this.precisionMs =
      document.window.time_precision ??
      Math.min(Math.max(1, Math.floor(this.paneMs / PRECISION_PART)), MOST_PRECISION_MS);
    this.askingWords = document.sample === undefined ? RESOLUTION : threshold(document.sample);
  }

  /** What the fingerprint is made of. */
  get meaning() {
    const values = this.attributes.map((each) => [each.name, each.values]);
    const sample = this.askingWords < RESOLUTION ? [this.askingWords, this.paneMs] : [];
    return [this.name, this.mechanism.kind, this.mechanism.meaning, values, ...sample];
  }

  /**
   * Convert a record to the numbers of its values.
   *
   * @param {Record<string, string | number>} record gives every attribute one of its values; where an attribute has
   *   bins, a number; where it has a value for what is missing, null or "" stand for that
   * @returns {number[]}
   * @throws {DataError} the message never repeats a value
   */
  encode(record) {
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

  /** Return the number of the pane that a time is in. */
  paneOf(timeMs) {
    return Math.floor(timeMs / this.paneMs);
  }

  /** Return the event time that is written for a time: rounded down within its pane. */
  rounded(timeMs) {
    return timeMs - ((timeMs - this.paneOf(timeMs) * this.paneMs) % this.precisionMs);
  }
}

function numberOf(value, { name, values, bins, missing }) {
  if (value === null || value === undefined || value === "" || Number.isNaN(value)) {
    if (missing === undefined) throw new DataError(`attribute "${name}" has no value, and none for what is missing`);
    return values.indexOf(missing);
  }
  if (bins !== undefined && typeof value === "number") return binOf(value, name, bins.map(edge));
  const index = ["string", "number"].includes(typeof value) ? values.indexOf(String(value)) : -1;
  if (index === -1) throw new DataError(`attribute "${name}" does not have the given value; it has ${values.join(", ")}`);
  return index;
}

const edge = (text) => ({ inf: Infinity, "-inf": -Infinity })[text] ?? Number(text);

/** Return the number of the bin that holds a number: bins lack their upper ends, but for a finite last one. */
function binOf(number, name, edges) {
  const bin = edges.findLastIndex((each) => each <= number);
  if (bin === edges.length - 1 && number === edges[bin] && Number.isFinite(number)) return bin - 1;
  if (bin === -1 || bin === edges.length - 1) throw new DataError(`attribute "${name}": the number is in none of its bins`);
  return bin;
}
