/** Collections: what a user is asked, and how it is perturbed. Each kind is a module of its own. */

import { CollectionError, StreamLDPError } from "./errors.js";
import { moduleOf } from "./kinds.js";
import { toHex, utf8 } from "./bytes.js";
import { sha256 } from "./sha256.js";
import { given, isName } from "./values.js";
import { RESOLUTION, digestWords } from "./words.js";

const FINGERPRINT_BYTES = 16;
const MAX_PRECISION_MS = 60_000;
const PRECISION_PART = 10;

/** Most bytes of a row: its width has two bytes in a batch. */
const MAX_WIDTH = 2 ** 16 - 1;

const UNITS_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Return the first 16 bytes of the SHA-256 of a meaning. @param {string} meaning @returns {Uint8Array} */
export const fingerprintOf = (meaning) => sha256(utf8(meaning)).subarray(0, FINGERPRINT_BYTES);

/** Return a duration in milliseconds, as a document has it, or as the text of a file such as `60s`; NaN for none. */
export function durationMs(duration) {
  const [, count, unit] = /^([0-9]+)\s*(ms|s|m|h|d)$/.exec(duration) ?? [];
  const found = count === undefined ? duration : Number(count) * UNITS_MS[unit];
  return Number.isSafeInteger(found) && found > 0 ? found : NaN;
}

/**
 * What a report answers: a collection, or a round of one.
 *
 * @typedef {object} Inquiry
 * @property {Uint8Array} fingerprint of its batches, 16 bytes
 * @property {number} width bytes of a row
 * @property {number} [closesMs] event time from which there are no more reports to it
 * @property {(timeMs: number) => Turn | undefined} turn in which a report to it is made; none where users take none
 * @property {(held: unknown, user: {secret: Uint8Array, isFresh: boolean}) => Charge} charge
 * @property {(held: unknown, draw: Draw) => Uint8Array} row
 */

/**
 * A turn of a user, who has one of so many that follow each other.
 *
 * @typedef {{fingerprint: string, number: number, every: number}} Turn
 */

/**
 * What a report shows, for the ledger.
 *
 * @typedef {object} Charge
 * @property {string} collection its name
 * @property {string[]} about what is shown with noise, in words; never a value
 * @property {boolean} linked whether a permanent report carries what links it to others
 * @property {{attribute: string, responses: string, cost: object, shows: Uint8Array}[]} parts the permanent responses
 *   that are shown: the names of an attribute, and of a set of responses; what they cost, see `costs.js`; and all that
 *   the response depends on beside the secret
 * @property {{fingerprint: string, phase: number, epoch: number, epsilon: number}} [phase] that it reports to
 */

/**
 * What decides a row.
 *
 * @typedef {object} Draw
 * @property {Uint8Array} [secret] the user's; none where all noise is fresh
 * @property {import("./words.js").Words} words fresh ones
 * @property {number} timeMs
 */

/** Read a document, which may be anything. */
function read(Kind, document, meaning) {
  try {
    return new Kind(document, meaning);
  } catch (cause) {
    if (cause instanceof StreamLDPError) throw cause;
    throw new CollectionError("the document or the meaning of a collection is not of the right form", { cause });
  }
}

/** A collection of any kind. Made by `Collection.of`. */
export class Collection {
  /**
   * Read a collection of any kind.
   *
   * @param {object} document as a gateway serves it at /v1/collections/NAME/document, or a collection file as JSON
   * @param {object} [options]
   * @param {string | (() => Promise<string>)} [options.meaning] the text behind the fingerprint, as a gateway serves it
   *   at /v1/collections/NAME/meaning; sampled collections, strings and places need it
   * @returns {Promise<Collection>}
   * @throws {CollectionError} it is of no known kind, or something in it is wrong
   */
  static async of(document, { meaning } = {}) {
    const { Kind } = await moduleOf(document);
    if (!Kind.needsMeaning) return read(Kind, document);
    const text = typeof meaning === "function" ? await meaning() : meaning;
    if (typeof text !== "string") {
      throw new CollectionError(
        `a collection of this kind needs its meaning: Collection.of(document, { meaning }), as a gateway ` +
          "serves it at /v1/collections/NAME/meaning",
      );
    }
    return read(Kind, document, text);
  }

  /** Whether what is asked after the first phase comes from the service, in rounds. */
  static hasRounds = false;

  /** Whether a report is made by the meaning, and not by the document alone. */
  static needsMeaning = false;

  constructor(document) {
    this.name = document.collection;
    if (!isName(this.name)) throw new CollectionError("a collection has a name");
    const window = document.window ?? {};
    this.paneMs = durationMs(window.hop ?? window.size);
    if (Number.isNaN(this.paneMs)) throw new CollectionError("the window has no size in milliseconds");
    this.precisionMs =
      window.time_precision === undefined || window.time_precision === null
        ? Math.min(Math.max(1, Math.floor(this.paneMs / PRECISION_PART)), MAX_PRECISION_MS)
        : durationMs(window.time_precision);
    this.rotate = this.#rotated(document.rotate, window);
    if (!(this.precisionMs <= this.paneMs)) {
      throw new CollectionError("time_precision is a number of milliseconds, at most those of a window");
    }
  }

  /** Take w of the file, out of so many turns a user has one; undefined where users take no turns. */
  #rotated(rotate, window) {
    if (given(rotate) === undefined) return undefined;
    if (!(Number.isSafeInteger(rotate) && rotate >= 1 && given(window.hop) === undefined)) {
      throw new CollectionError("rotate is a number of windows, which have no hop");
    }
    return rotate;
  }

  /** Time from the beginning of one turn to that of the next, in milliseconds. */
  get turnMs() {
    return this.paneMs;
  }

  /** What the meaning ends with where users take turns. */
  get turns() {
    return this.rotate === undefined ? [] : [["rotate", this.rotate, this.turnMs]];
  }

  /** Decide whether a user has a turn, by its number. */
  hasTurn(secret, number) {
    if (this.rotate === undefined) return true;
    const [word] = digestWords(secret, "stream-ldp rot 1", this.fingerprint, 1);
    const place = Number((BigInt(word) * BigInt(this.rotate)) / BigInt(RESOLUTION));
    return number - Math.floor(number / this.rotate) * this.rotate === place;
  }

  /** @returns {Turn | undefined} */
  turnOf(number) {
    return this.rotate === undefined ? undefined : { fingerprint: toHex(this.fingerprint), number, every: this.rotate };
  }

  turn(timeMs) {
    return this.turnOf(Math.floor(timeMs / this.turnMs));
  }

  /** Take the text behind the fingerprint. */
  mean(meaning) {
    /** The text behind the fingerprint. */
    this.meaning = meaning;
    this.fingerprint = fingerprintOf(meaning);
    if (this.width > MAX_WIDTH) throw new CollectionError(`a report has at most ${MAX_WIDTH} bytes, not ${this.width}`);
  }

  get hasRounds() {
    return this.constructor.hasRounds;
  }

  /**
   * List what a user is asked at a time.
   *
   * @param {{secret: Uint8Array, timeMs: number, rounds: object[]}} user
   * @returns {Inquiry[]}
   */
  asked({ secret, timeMs }) {
    return this.hasTurn(secret, Math.floor(timeMs / this.turnMs)) ? [this] : [];
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
