/** Collections of strings: each user answers one question about a string (docs/wire.md, section 18). */

import { i64, joined, packed, u32, utf8 } from "../bytes.js";
import { Questions, ROUNDING, questionOf } from "../questions.js";
import { encodeRecord, textOf } from "../values.js";
import { digestWords } from "../words.js";

const MASK = 2n ** 64n - 1n;

function mixed(number) {
  let x = (number + 0x9e3779b97f4a7c15n) & MASK;
  x = ((x ^ (x >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
  x = ((x ^ (x >> 27n)) * 0x94d049bb133111ebn) & MASK;
  return x ^ (x >> 31n);
}

/** Return the bucket of some symbols, out of 2^t. */
function bucketOf(symbols, seed, t) {
  const start = BigInt(seed) << 32n;
  const hash = symbols.reduce((sum, symbol, i) => sum ^ mixed(start + (BigInt(i) << 16n) + BigInt(symbol)), 0n);
  return Number(hash >> BigInt(64 - t));
}

/** Bits of the bucket of the whole string of `rappor-unknown`. */
const WHOLE_BITS = 7;

/** A string, as its symbols. */
class Text {
  constructor(name, alphabet, length) {
    this.name = name;
    this.length = length;
    this.letters = alphabet === null ? undefined : [...alphabet];
  }

  /** Convert a string to its symbols; what is missing, too long, or has another letter is the empty string. */
  encode(value) {
    const text = (textOf(value, `attribute "${this.name}": the given value`) ?? "").toWellFormed();
    const letters = this.letters === undefined ? [...utf8(text)] : [...text].map((each) => this.letters.indexOf(each));
    const isOne = letters.length <= this.length && !letters.includes(-1);
    const symbols = isOne ? letters.map((each) => each + 1) : [];
    return [...symbols, ...Array(this.length - symbols.length).fill(0)];
  }
}

/** A collection of strings. */
export class Kind extends Questions {
  constructor(document, meaning) {
    super(document);
    const [, , method, string, randomizers, questions, ends] = this.listOf(meaning, "strings", 7);
    const { name, alphabet, length } = document.string ?? {};
    if (JSON.stringify(string) !== JSON.stringify([name, alphabet ?? null, length])) {
      this.refuse("it asks about another string");
    }
    if (!["pem", "rappor-unknown"].includes(method)) this.refuse(`the method "${method}" is not known`);
    this.isPem = method === "pem";
    this.text = new Text(name, alphabet ?? null, length);
    this.requireCount(questions?.length);
    this.questions = questions;
    this.ends = this.shareOf(ends, questions.length);
    this.#checkQuestions();
    const letters = (this.text.letters?.length ?? 256) + 1;
    const inputs = this.isPem ? [undefined] : [2 ** WHOLE_BITS, letters ** 2, letters ** 2];
    if (!(Array.isArray(randomizers) && randomizers.length === inputs.length)) this.refuse("it has other randomizers");
    this.randomizers = randomizers.map((each, i) => this.randomizer(i, each?.[0], each?.[1], { inputs: inputs[i] }));
    /** Nats of an answer. */
    this.loss = this.randomizers.reduce((sum, { loss }) => sum + loss, 0);
    const epsilon = this.epsilonOf(document.mechanism.epsilon);
    if (!(this.loss <= epsilon * ROUNDING)) {
      this.refuse(`an answer costs ${this.loss.toFixed(6)} nats, and the file says ${epsilon}`);
    }
    this.sizes = this.randomizers.map(({ widths }) => Math.ceil(widths.reduce((sum, each) => sum + each, 0) / 8));
    this.width = this.sizes.reduce((sum, size) => sum + size, 5);
    this.mean(meaning);
  }

  #checkQuestions() {
    const isPlace = (number, most) => Number.isSafeInteger(number) && number >= 0 && number <= most;
    const isQuestion = this.isPem
      ? (asked) => isPlace(asked, this.text.length) && asked > 0
      : (asked) => Array.isArray(asked) && asked.length === 2 && asked.every((each) => isPlace(each, this.text.length));
    if (!this.questions.every(isQuestion)) this.refuse("it asks for letters beyond the last");
  }

  /** Convert a record to the symbols of its string. @returns {number[]} */
  encode(record) {
    return encodeRecord(record, [this.text], this.name)[0];
  }

  /** Return the number of the question that a user is asked, and the seed. @returns {number[]} */
  drawn(secret) {
    const [word, seed] = digestWords(secret, "stream-ldp str 1", this.fingerprint, 2);
    return [questionOf(this.ends, word), seed];
  }

  #inputs(number, seed, symbols) {
    const asked = this.questions[number];
    if (this.isPem) {
      const { choices } = this.randomizers[0].parameters;
      return [bucketOf(symbols.slice(0, asked), seed, Math.log2(choices))];
    }
    const m = this.text.letters.length + 1;
    const pair = (place) => (symbols[2 * place] ?? 0) * m + (symbols[2 * place + 1] ?? 0);
    return [bucketOf(symbols, seed, WHOLE_BITS), ...asked.map(pair)];
  }

  charge(symbols, { secret, isFresh }) {
    // With fresh noise each draws a question of its own, and all of them cost the same: one account will do.
    const [number, seed] = isFresh ? [0, 0] : this.drawn(secret);
    const held = joined(...this.#inputs(number, seed, symbols).map(i64));
    return {
      collection: this.name,
      about: [this.text.name],
      // The seed is the same in all reports of a user, and of 32 bits.
      linked: true,
      parts: [
        {
          attribute: this.text.name,
          responses: this.responses(number),
          cost: { kind: "answer", epsilon: this.loss },
          shows: this.shows(number, held),
        },
      ],
    };
  }

  row(symbols, { secret, words }) {
    const [number, seed] =
      secret === undefined ? [questionOf(this.ends, words.next()), words.next()] : this.drawn(secret);
    const inputs = this.#inputs(number, seed, symbols);
    const shows = this.shows(number, joined(...inputs.map(i64)));
    const source = secret === undefined ? words : this.answerWords(secret, shows);
    const rows = this.randomizers.map((each, i) => packed(each.draw(source, inputs[i]), each.widths, this.sizes[i]));
    return joined(Uint8Array.of(number), u32(seed), ...rows);
  }
}
