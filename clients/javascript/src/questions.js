/** What collections have in common whose users answer one question each (docs/wire.md, sections 5 and 17 to 19). */

import { joined, packed, toHex, u16 } from "./bytes.js";
import { Collection } from "./collection.js";
import { CollectionError } from "./errors.js";
import { Randomizer } from "./randomizers.js";
import { given } from "./values.js";
import { RESOLUTION, keyedWords } from "./words.js";

const ANSWER = "stream-ldp ans 1";

/** A loss may be above what a file says by the rounding of its sum and no more. */
export const ROUNDING = 1 + 2 ** -30;

/** Most questions: their number has two bytes in a row. */
const MAX_QUESTIONS = 2 ** 16;

/** A collection of questions, of which each user answers one. */
export class Questions extends Collection {
  static needsMeaning = true;

  /**
   * Read the list that a meaning is, and require that it is of this collection.
   *
   * @param {string} meaning
   * @param {string} kind
   * @param {number} length of the list, beside what turns add
   * @returns {any[]}
   */
  listOf(meaning, kind, length) {
    let list;
    try {
      list = JSON.parse(meaning);
    } catch {
      // Refused below.
    }
    const isOne = Array.isArray(list) && list.length === length + this.turns.length;
    if (!(isOne && list[0] === this.name && list[1] === kind)) {
      throw new CollectionError(`the meaning is none of a ${kind} collection "${this.name}", or of other turns`);
    }
    if (JSON.stringify(list.slice(length)) !== JSON.stringify(this.turns)) this.refuse("it has other turns");
    return list;
  }

  /** Refuse a meaning that does not fit its document. @returns {never} */
  refuse(why) {
    throw new CollectionError(`the meaning of collection "${this.name}" does not fit its file: ${why}`);
  }

  /** Return an epsilon of the file, or undefined where it has none. */
  epsilonOf(epsilon, name = "epsilon") {
    if (given(epsilon) === undefined) return undefined;
    if (typeof epsilon === "number" && epsilon > 0 && epsilon < Infinity) return epsilon;
    throw new CollectionError(`${name} must be positive and finite`);
  }

  /** Make the randomizer of a question, whose inputs are so many, and which costs at most so much. */
  randomizer(place, kind, parameters, { inputs, epsilon }) {
    const made = Randomizer.of(kind, parameters);
    if (made === undefined) this.refuse(`question ${place} has a randomizer that this client does not know`);
    if (inputs !== undefined && made.inputs !== inputs) this.refuse(`question ${place} is about other values`);
    if (epsilon !== undefined && made.loss > epsilon * ROUNDING) {
      this.refuse(`an answer to question ${place} costs ${made.loss.toFixed(6)} nats, and the file says ${epsilon}`);
    }
    return made;
  }

  /** Require that questions share all users. @param {number[]} ends @param {number} count */
  shareOf(ends, count) {
    const isShare = (end, i) => Number.isSafeInteger(end) && end >= (ends[i - 1] ?? 0);
    if (!(Array.isArray(ends) && ends.length === count && ends.every(isShare) && ends.at(-1) === RESOLUTION)) {
      this.refuse("the questions do not share all users");
    }
    return ends;
  }

  requireCount(count) {
    if (!(count >= 1 && count <= MAX_QUESTIONS)) this.refuse(`${count} questions`);
  }

  /** Return what a permanent answer is made of, as bytes. */
  shows(number, held) {
    return joined(this.fingerprint, u16(number), held);
  }

  /** Return the words of a permanent answer. @param {Uint8Array} shows */
  answerWords(secret, shows) {
    return keyedWords(secret, ANSWER, shows);
  }

  /** Name the permanent answers to a question, or at an epsilon. */
  responses(number) {
    return `${toHex(this.fingerprint)} ${number}`;
  }
}

/** Return the first question whose end is above a word. */
export const questionOf = (ends, word) => ends.findIndex((end) => end > word);

/** Rows that begin with the number of their question, and have room for the longest answer (section 17). */
export class NumberedRows {
  #numberBytes;
  #answerBytes;

  /** @param {Randomizer[]} randomizers of the questions */
  constructor(randomizers) {
    const count = randomizers.length;
    this.#numberBytes = count === 1 ? 0 : count <= 256 ? 1 : 2;
    const bits = randomizers.map(({ widths }) => widths.reduce((sum, each) => sum + each, 0));
    this.#answerBytes = Math.ceil(bits.reduce((most, each) => Math.max(most, each)) / 8);
    this.width = this.#numberBytes + this.#answerBytes;
  }

  row(number, randomizer, answer) {
    return joined(u16(number).subarray(0, this.#numberBytes), packed(answer, randomizer.widths, this.#answerBytes));
  }
}
