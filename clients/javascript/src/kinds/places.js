/** Collections of places: each user reports a region and an epsilon, and a place within it with noise (section 19). */

import { i64 } from "../bytes.js";
import { CollectionError, DataError } from "../errors.js";
import { NumberedRows, Questions } from "../questions.js";
import { Listed, encodeRecord, given, isName, numberIn, textOf } from "../values.js";

/** Most places of a tree. */
const MAX_PLACES = 2 ** 14;

/** Most regions that hold one another. */
const MAX_DEPTH = 64;

/** List the places of a tree of names, and its regions: each a name, its first place and its end. */
function namedTree(nested, root) {
  const places = [];
  const regions = [];
  const grow = (parts, name, depth) => {
    const region = { name, first: places.length };
    regions.push(region);
    if (Array.isArray(parts)) places.push(...parts);
    else if (parts !== null && typeof parts === "object" && depth < MAX_DEPTH) {
      for (const [below, within] of Object.entries(parts)) grow(within, below, depth + 1);
    } else throw new CollectionError("places are a tree of regions, whose last have lists of places");
    region.end = places.length;
  };
  grow(nested, root, 0);
  return { places, regions };
}

/** The same of a tree whose regions of a level have as many parts, from 2 on. */
function evenTree(levels, root) {
  const places = [];
  const regions = [];
  const grow = (way) => {
    if (way.length === levels.length) return void places.push(way.join("."));
    const region = { name: way.join(".") || root, first: places.length };
    regions.push(region);
    for (let part = 0; part < levels[way.length]; part++) grow([...way, part]);
    region.end = places.length;
  };
  const isLevels =
    Array.isArray(levels) && levels.length > 0 && levels.every((each) => Number.isInteger(each) && each > 1);
  if (!isLevels || levels.reduce((count, each) => count * each, 1) > MAX_PLACES) {
    throw new CollectionError(`levels are numbers of parts, from 2 on, of at most ${MAX_PLACES} places`);
  }
  grow([]);
  return { places, regions };
}

/** The epsilon that a user has chosen. */
class Epsilon {
  name = "epsilon";

  constructor(epsilons) {
    this.epsilons = epsilons;
  }

  encode(value) {
    const text = textOf(value, 'attribute "epsilon": the given value');
    if (text === undefined) throw new DataError('attribute "epsilon": the value is missing');
    const place = this.epsilons.indexOf(numberIn(text, this.name));
    if (place !== -1) return place;
    throw new DataError(`attribute "epsilon": the given value is not one of ${this.epsilons.join(", ")}`);
  }
}

/** A name among some, of which there may be a single one. */
class Choice {
  constructor(name, values) {
    this.name = name;
    this.values = values;
  }

  encode(value) {
    const place = this.values.indexOf(textOf(value, `attribute "${this.name}": the given value`));
    if (place !== -1) return place;
    throw new DataError(
      `attribute "${this.name}": the given value is not one of ${this.values.slice(0, 20).join(", ")}`,
    );
  }
}

/** A collection of places. */
export class Kind extends Questions {
  constructor(document, meaning) {
    super(document);
    const [, , places, questions] = this.listOf(meaning, "places", 4);
    const root = given(document.root) ?? "everywhere";
    const tree =
      given(document.levels) === undefined ? namedTree(document.places, root) : evenTree(document.levels, root);
    if (!(tree.places.length <= MAX_PLACES && tree.places.every(isName))) {
      throw new CollectionError(`a collection has at most ${MAX_PLACES} places, each of them a text`);
    }
    this.regions = this.#inOrder(tree, places);
    if (!places.includes(given(document.other) ?? places[0])) throw new CollectionError("other is not a place");
    this.epsilons = this.#epsilonsOf(document.mechanism.epsilon);
    this.attributes = [
      new Listed({ name: "place", values: places, other: document.other }),
      new Choice(
        "region",
        tree.regions.map(({ name }) => name),
      ),
      new Epsilon(this.epsilons),
    ];
    this.requireCount(questions?.length);
    if (questions.length !== this.regions.length * this.epsilons.length)
      this.refuse("it has other regions or epsilons");
    this.questions = questions.map((each, number) => this.#question(each, number));
    this.rows = new NumberedRows(this.questions);
    this.width = this.rows.width;
    this.mean(meaning);
  }

  /** Put regions in the order of the meaning: of names that are numbers, an object of JavaScript does not keep it. */
  #inOrder({ places, regions }, order) {
    const numbers = new Map(Array.isArray(order) ? order.map((place, number) => [place, number]) : []);
    if (!(numbers.size === places.length && places.every((each) => numbers.has(each))))
      this.refuse("it has other places");
    const found = regions.map(({ name, first, end }) => {
      const own = places.slice(first, end).map((each) => numbers.get(each));
      const least = Math.min(...own);
      if (own.length < 2 || Math.max(...own) - least !== own.length - 1)
        this.refuse(`region "${name}" has other places`);
      return { name, first: least, end: least + own.length };
    });
    return found.sort((one, other) => one.first - other.first || other.end - one.end);
  }

  #epsilonsOf(epsilons) {
    const isOrder = (each, i) => typeof each === "number" && each > (epsilons[i - 1] ?? 0) && each < Infinity;
    if (!(Array.isArray(epsilons) && epsilons.length && epsilons.every(isOrder))) {
      throw new CollectionError("a collection of places has a list of ascending epsilons");
    }
    return epsilons;
  }

  #question(question, number) {
    const [first, end, kind, parameters] = Array.isArray(question) ? question : [];
    const region = this.regions[Math.floor(number / this.epsilons.length)];
    if (!(first === region.first && end === region.end)) this.refuse(`region "${region.name}" has other places`);
    const epsilon = this.epsilons[number % this.epsilons.length];
    return this.randomizer(number, kind, parameters, { inputs: end - first, epsilon });
  }

  /**
   * Convert a record with `place`, `region` and `epsilon` to their numbers.
   *
   * @throws {DataError} one is missing or not in the file, or the place is outside the region; the message never
   *   repeats the place
   */
  encode(record) {
    const encoded = encodeRecord(record, this.attributes, this.name);
    const { name, first, end } = this.regions[encoded[1]];
    if (!(first <= encoded[0] && encoded[0] < end)) throw new DataError(`the place is outside the region "${name}"`);
    return encoded;
  }

  #number([, region, epsilon]) {
    return region * this.epsilons.length + epsilon;
  }

  charge(chosen) {
    const [place, , epsilon] = chosen;
    return {
      collection: this.name,
      about: ["place"],
      linked: false,
      parts: [
        {
          attribute: "place",
          responses: this.responses(epsilon),
          cost: { kind: "answer", epsilon: this.epsilons[epsilon] },
          shows: this.shows(this.#number(chosen), i64(place)),
        },
      ],
    };
  }

  row(chosen, { secret, words }) {
    const [place, region] = chosen;
    const number = this.#number(chosen);
    const source = secret === undefined ? words : this.answerWords(secret, this.shows(number, i64(place)));
    const randomizer = this.questions[number];
    return this.rows.row(number, randomizer, randomizer.draw(source, place - this.regions[region].first));
  }
}
