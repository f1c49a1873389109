/** Collections of key-value data: each user answers which key is drawn, and whether its number is large (section 21). */

import { f64, fromHex, joined, packed } from "../bytes.js";
import { DataError } from "../errors.js";
import { roundedUp } from "../costs.js";
import { Questions, ROUNDING } from "../questions.js";
import { Ranged, checkNames, given, textOf } from "../values.js";
import { threshold, uniform } from "../words.js";

/** The bytes of a key that a user does not hold: a NaN. */
const NOT_HELD = fromHex("000000000000f87f");

/** A collection of key-value data. */
export class Kind extends Questions {
  constructor(document, meaning) {
    super(document);
    const [, , keys, padding, kind, parameters] = this.listOf(meaning, "pairs", 6);
    const { names, range, ranges, clip } = document.keys ?? {};
    checkNames(Array.isArray(names) ? names.map((name) => ({ name })) : undefined);
    const bounds = given(ranges) ?? names.map(() => range);
    const isRange = (each) =>
      Array.isArray(each) && each.length === 2 && each.every(Number.isFinite) && each[0] < each[1];
    if (!(Array.isArray(bounds) && bounds.length === names.length && bounds.every(isRange)))
      this.refuse("it has no ranges");
    const written = names.map((name, place) => [name, ...bounds[place]]);
    if (JSON.stringify(keys) !== JSON.stringify(written)) this.refuse("it has other keys or ranges");
    const isPadding = Number.isSafeInteger(padding) && padding >= 1 && padding <= 2 ** 31;
    if (!(isPadding && padding === (given(document.mechanism.padding) ?? padding)))
      this.refuse("it has another padding");
    this.padding = padding;
    this.keys = names.map((name, place) => new Ranged({ name, range: bounds[place], clip }));
    const epsilon = this.epsilonOf(document.mechanism.epsilon);
    const ends = 2 * names.length;
    // Of direct, slots without a key have a value each, and what is drawn hides behind what might have been.
    this.hasSlots = kind === "direct" && Array.isArray(parameters) && parameters[1] === padding;
    if (this.hasSlots) {
      const [size, dummies, kept] = parameters;
      const inputs = ends + padding;
      this.randomized = this.randomizer(0, kind, [size + dummies, 0, kept], { inputs });
      const epsilonDrawn = roundedUp(Math.log1p(Math.expm1(this.randomized.loss) / padding));
      if (size !== ends || epsilonDrawn > epsilon * ROUNDING) this.refuse("an answer costs more than the file says");
      this.cost = { kind: "answer", epsilon: epsilonDrawn };
    } else {
      this.randomized = this.randomizer(0, kind, parameters, { inputs: ends + 1, epsilon });
      this.cost = this.randomized.cost;
    }
    this.width = Math.ceil(this.randomized.widths.reduce((sum, each) => sum + each, 0) / 8);
    this.mean(meaning);
  }

  /**
   * Convert a record, which gives a number to each key that the user holds.
   *
   * @returns {(number | undefined)[]} of each key; undefined where the user does not hold it
   * @throws {DataError} a key is unknown, or a number does not fit; the message never repeats it
   */
  encode(record) {
    if (record === null || typeof record !== "object" || Array.isArray(record)) {
      throw new DataError("a record has a number for each key that the user holds, as an object does");
    }
    const unknown = Object.keys(record).find((name) => !this.keys.some((key) => key.name === name));
    if (unknown !== undefined) throw new DataError(`a key of the record is none of collection "${this.name}"`);
    return this.keys.map((key) => {
      const value = Object.hasOwn(record, key.name) ? record[key.name] : undefined;
      const isHeld = textOf(value, `key "${key.name}": the given value`) !== undefined;
      return isHeld ? key.encode(value) : undefined;
    });
  }

  #shows(numbers) {
    return this.shows(0, joined(...numbers.map((number) => (number === undefined ? NOT_HELD : f64(number)))));
  }

  charge(numbers) {
    return {
      collection: this.name,
      about: ["keys and numbers"],
      linked: false,
      parts: [
        {
          attribute: "keys and numbers",
          responses: this.responses(0),
          cost: this.cost,
          shows: this.#shows(numbers),
        },
      ],
    };
  }

  row(numbers, { secret, words }) {
    // With fresh noise, a word that would choose the question comes first, of which there is one.
    if (secret === undefined) words.next();
    const source = secret === undefined ? words : this.answerWords(secret, this.#shows(numbers));
    const answer = this.randomized.draw(source, this.#drawn(numbers, source));
    return packed(this.randomized.again(words, answer), this.randomized.widths, this.width);
  }

  /** Draw a slot of the keys that are held, and round the number of its key to an end of its range. */
  #drawn(numbers, words) {
    const held = numbers.flatMap((number, place) => (number === undefined ? [] : [place]));
    const slot = uniform(words, Math.max(held.length, this.padding));
    const word = words.next();
    if (slot >= held.length) return 2 * this.keys.length + (this.hasSlots ? slot - held.length : 0);
    const place = held[slot];
    return 2 * place + Number(word < threshold(this.keys[place].share(numbers[place])));
  }
}
