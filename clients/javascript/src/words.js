/** Words of 32 bits that decide: fresh ones of the operating system, and those that a secret determines for ever. */

import { blake2b } from "./blake2b.js";
import { joined, u32, wordsOf } from "./bytes.js";

/** Most bytes that `getRandomValues` gives at once. */
const MAX_DRAWN = 65_536;

const BLOCK_BYTES = 64;
const AT_ONCE = 16;
export const RESOLUTION = 2 ** 32;

/** Draw bytes from the operating system's generator. @param {number} count @returns {Uint8Array} */
export function randomBytes(count) {
  if (typeof globalThis.crypto?.getRandomValues !== "function") {
    throw new Error("crypto.getRandomValues is missing: without the operating system's randomness there is no noise");
  }
  const bytes = new Uint8Array(count);
  for (let at = 0; at < count; at += MAX_DRAWN) crypto.getRandomValues(bytes.subarray(at, at + MAX_DRAWN));
  return bytes;
}

/** Draw uniform words from the operating system's generator. @param {number} count @returns {number[]} */
export const randomWords = (count) => wordsOf(randomBytes(4 * count));

/**
 * A source of words, which gives each once.
 *
 * @typedef {object} Words
 * @property {() => number} next
 */

/** Words in a list, and then those of further lists. @implements {Words} */
class Listed {
  #words = [];
  #at = 0;
  #more;

  constructor(more) {
    this.#more = more;
  }

  next() {
    if (this.#at === this.#words.length) {
      this.#words = this.#more();
      this.#at = 0;
    }
    return this.#words[this.#at++];
  }
}

/** Return fresh words. @returns {Words} */
export const freshWords = () => new Listed(() => randomWords(AT_ONCE));

/** Return the words that a secret determines for some data. @returns {Words} */
export function keyedWords(secret, person, data) {
  let block = 0;
  return new Listed(() => wordsOf(blake2b(joined(data, u32(block++)), { key: secret, person, length: BLOCK_BYTES })));
}

/** Return the words of one digest, of so many. */
export const digestWords = (secret, person, data, count) =>
  wordsOf(blake2b(data, { key: secret, person, length: 4 * count }));

/** Return a number below a count without bias: words that would favour some are passed over. @param {Words} words */
export function uniform(words, count) {
  const even = RESOLUTION - (RESOLUTION % count);
  for (;;) {
    const word = words.next();
    if (word < even) return word % count;
  }
}

/** Return the threshold of a probability, in units of 2^-32: rounded to the nearest, halves to even. */
export function threshold(probability) {
  const exact = probability * RESOLUTION;
  const floor = Math.floor(exact);
  const rest = exact - floor;
  return floor + (rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? 1 : 0);
}
