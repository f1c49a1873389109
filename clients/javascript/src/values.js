/** The values of attributes: in a list, in bins of numbers, numbers of a range, and texts (docs/wire.md, 1 and 17). */

import { f64, i64 } from "./bytes.js";
import { CollectionError, DataError } from "./errors.js";

/** Length of a name, and what it may not hold: control characters, and halves of a pair, which UTF-8 does not have. */
const MAX_NAME = 200;
export const isName = (text) =>
  typeof text === "string" && /^[^\0-\x1f]+$/.test(text) && [...text].length <= MAX_NAME && text.isWellFormed();

/** Most values that a message lists. */
const SHOWN = 20;

/** Return what stands in a document, where null stands for what is left out. */
export const given = (value) => value ?? undefined;

const DECIMAL = /^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$/;

/** Return a double with the fewest digits that are the same double, as canonical JSON has it (section 5). */
export function decimalOf(number) {
  const size = Math.abs(number);
  if (size === 0 || (size >= 1e-4 && size < 1e16)) {
    const text = String(number);
    return text.includes(".") ? text : `${text}.0`;
  }
  const [, digits, sign, power] = /^(.*)e([+-])(.*)$/.exec(number.toExponential());
  return `${digits}e${sign}${power.padStart(2, "0")}`;
}

/**
 * Return a value as text, and undefined for what is missing; a whole number has no decimal point.
 *
 * @throws {DataError} it is neither text nor a number; the message never repeats it
 */
export function textOf(value, what) {
  if (typeof value === "string") return value || undefined;
  if (value === null || value === undefined || Number.isNaN(value)) return undefined;
  if (typeof value === "bigint" || typeof value === "boolean") return String(value);
  if (typeof value !== "number") throw new DataError(`${what} is not text, and not a number`);
  if (Number.isInteger(value)) return String(BigInt(value));
  if (Number.isFinite(value)) return decimalOf(value);
  return value > 0 ? "1e999" : "-1e999";
}

/** Read a number that stands in a text. @throws {DataError} it is none */
export function numberIn(text, name) {
  if (!DECIMAL.test(text)) throw new DataError(`attribute "${name}": the given value is not a number`);
  return Number(text);
}

const shownEdge = (number) => (Number.isFinite(number) ? textOf(number) : number > 0 ? "inf" : "-inf");

function clipped(number, { name, least, largest, clip }) {
  const near = clip ? Math.min(Math.max(number, least), largest) : number;
  if (least <= near && near <= largest) return near;
  throw new DataError(`attribute "${name}": the given number is not from ${shownEdge(least)} to ${shownEdge(largest)}`);
}

const edgeOf = (edge) =>
  ({ inf: Infinity, ".inf": Infinity, "-inf": -Infinity, "-.inf": -Infinity })[edge] ?? Number(edge);

/** Name the bins between numbers, such as [0,18) and [18,120]. */
function labelsOf(edges) {
  const last = edges.length - 2;
  return edges.slice(0, -1).map((low, i) => {
    const end = i === last && Number.isFinite(edges[i + 1]) ? "]" : ")";
    return `${Number.isFinite(low) ? "[" : "("}${shownEdge(low)},${shownEdge(edges[i + 1])}${end}`;
  });
}

/** An attribute with a list of values, some of which may be bins of numbers. */
export class Listed {
  #places;
  #edges;
  #clip;

  /** @param {object} attribute as a collection file or document has it */
  constructor({ name, values, bins, missing, other, clip }) {
    this.name = name;
    this.missing = given(missing);
    this.other = given(other);
    this.#clip = given(clip) ?? true;
    if (typeof this.#clip !== "boolean") throw new CollectionError("clip is true or false");
    this.#edges = given(bins) === undefined ? undefined : edgesOf(name, bins);
    const listed = given(values) ?? (this.#edges === undefined ? undefined : labelsOf(this.#edges));
    if (!(Array.isArray(listed) && listed.every(isName))) {
      throw new CollectionError(`attribute "${name}" needs at least 2 values, each of them a text`);
    }
    this.values = [...listed];
    for (const label of [this.missing, this.other]) {
      if (label === undefined || this.values.includes(label)) continue;
      if (!isName(label)) throw new CollectionError(`attribute "${name}" has a value that is no text`);
      this.values.push(label);
    }
    if (this.values.length < 2) throw new CollectionError(`attribute "${name}" needs at least 2 values`);
    this.#places = new Map(this.values.map((value, place) => [value, place]));
    if (this.#places.size < this.values.length) throw new CollectionError(`attribute "${name}" has a value twice`);
    if (this.#edges !== undefined) this.#checkBins();
  }

  #checkBins() {
    const count = this.values.filter((each) => ![this.missing, this.other].includes(each)).length;
    if (this.#edges.length !== count + 1) {
      throw new CollectionError(`attribute "${this.name}" needs one bin for each of its values, so one edge more`);
    }
  }

  /** Return the number of a value. @throws {DataError} it is none of them; the message never repeats it */
  encode(value) {
    const text = textOf(value, `attribute "${this.name}": the given value`) ?? this.missing;
    if (text === undefined) throw new DataError(`attribute "${this.name}": the value is missing`);
    const place = this.#places.get(text);
    if (place !== undefined) return place;
    try {
      return this.#binOf(text);
    } catch (error) {
      if (this.other === undefined) throw error;
      return this.#places.get(this.other);
    }
  }

  #binOf(text) {
    if (this.#edges === undefined) {
      const more = this.values.length - SHOWN;
      const shown = this.values.slice(0, SHOWN).join(", ") + (more > 0 ? ` and ${more} others` : "");
      throw new DataError(`attribute "${this.name}": the given value is not one of ${shown}`);
    }
    const [least, largest] = [this.#edges[0], this.#edges.at(-1)];
    const number = clipped(numberIn(text, this.name), { name: this.name, least, largest, clip: this.#clip });
    return Math.min(
      this.#edges.findLastIndex((each) => each <= number),
      this.#edges.length - 2,
    );
  }

  /** Return what a permanent answer is made of, as bytes. */
  held(place) {
    return i64(place);
  }

  /** Return the text that cohorts hash. */
  textOf(place) {
    return this.values[place];
  }
}

function edgesOf(name, bins) {
  const edges = Array.isArray(bins) ? bins.map(edgeOf) : [];
  if (edges.length < 2 || !edges.every((each, i) => (i === 0 ? !Number.isNaN(each) : edges[i - 1] < each))) {
    throw new CollectionError(`attribute "${name}" needs ascending bins, such as [0, 18, 65, 120]`);
  }
  return edges;
}

/** An attribute that is a number of a range. */
export class Ranged {
  constructor({ name, range, step, clip }) {
    this.name = name;
    this.#bounds = { name, least: range[0], largest: range[1], clip: given(clip) ?? true };
    this.#step = given(step);
  }

  #step;

  #bounds;

  encode(value) {
    const text = textOf(value, `attribute "${this.name}": the given value`);
    if (text === undefined) throw new DataError(`attribute "${this.name}": the value is missing`);
    // -0 is 0, and must not have another permanent answer.
    return this.#stepped(clipped(numberIn(text, this.name), this.#bounds)) + 0;
  }

  /** Return the nearest whole step to a number, the greater of two (section 17, numbers). */
  #stepped(number) {
    if (this.#step === undefined) return number;
    const { least, largest } = this.#bounds;
    return Math.min(least + Math.floor((number - least) / this.#step + 0.5) * this.#step, largest);
  }

  held(number) {
    return f64(number);
  }

  /** The least and the largest number of the range. */
  get ends() {
    return [this.#bounds.least, this.#bounds.largest];
  }

  /** Return the part of the range that lies below a number. */
  share(number) {
    const { least, largest } = this.#bounds;
    return Math.min(Math.max((number - least) / (largest - least), 0), 1);
  }

  /** Return which of so many parts of the range holds a number (section 17, cells of numbers). */
  cell(number, count) {
    return Math.min(Math.floor(((this.scaled(number) + 1) / 2) * count), count - 1);
  }

  /** Return a number in units in which the range is from -1 to 1. */
  scaled(number) {
    const { least, largest } = this.#bounds;
    return Math.min(Math.max(((number - least) / (largest - least)) * 2 - 1, -1), 1);
  }
}

/** An attribute of any text. */
export class AnyText {
  constructor({ name, missing }) {
    this.name = name;
    this.missing = given(missing);
  }

  encode(value) {
    const text = textOf(value, `attribute "${this.name}": the given value`) ?? this.missing;
    if (text === undefined) throw new DataError(`attribute "${this.name}": the value is missing`);
    return text.toWellFormed();
  }

  textOf(text) {
    return text;
  }
}

/** Require that the attributes of a document have names of their own. */
export function checkNames(attributes) {
  if (!(Array.isArray(attributes) && attributes.length > 0)) {
    throw new CollectionError("a collection has at least one attribute");
  }
  const names = new Set();
  for (const attribute of attributes) {
    const name = attribute?.name;
    if (!isName(name)) throw new CollectionError("an attribute has a name");
    if (names.has(name)) throw new CollectionError(`two attributes have the name "${name}"`);
    names.add(name);
  }
}

/**
 * Convert a record, which gives every attribute a value.
 *
 * @throws {DataError} an attribute is missing, unknown, or has another value; the message never repeats the value
 */
export function encodeRecord(record, attributes, collection) {
  if (record === null || typeof record !== "object" || Array.isArray(record)) {
    throw new DataError("a record has a value for each attribute, as an object does");
  }
  const known = attributes.map(({ name }) => name);
  const unknown = Object.keys(record).find((name) => !known.includes(name));
  if (unknown !== undefined) throw new DataError(`"${unknown}" is not an attribute of collection "${collection}"`);
  return attributes.map((attribute) => {
    if (!Object.hasOwn(record, attribute.name)) throw new DataError(`attribute "${attribute.name}" is missing`);
    return attribute.encode(record[attribute.name]);
  });
}
