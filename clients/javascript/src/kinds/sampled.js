/** Sampled collections, and those of views: each user answers one question about an attribute or a few (section 17). */

import { i64, joined, u32, utf8 } from "../bytes.js";
import { blake2b } from "../blake2b.js";
import { costOfReports } from "../costs.js";
import { NumberedRows, Questions, ROUNDING, questionOf } from "../questions.js";
import { AnyText, Listed, Ranged, checkNames, encodeRecord } from "../values.js";
import { digestWords, threshold } from "../words.js";

/** Return the bucket that a cohort's hash gives a text. */
function bucketOf(cohort, text, buckets) {
  const digest = blake2b(joined(u32(cohort), utf8(text)), { length: 8 });
  return Number(new DataView(digest.buffer).getBigUint64(0, true) % BigInt(buckets));
}

/** Round a number to one of both next points of a grid, ascending from 0, by a word (section 17, numbers). */
function rounded(words, scaled, points) {
  const y = ((scaled + 1) / 2) * points.at(-1);
  const below = points.slice(1, -1).filter((point) => point <= y).length;
  return below + Number(words.next() < threshold((y - points[below]) / (points[below + 1] - points[below])));
}

/** The grid of one step. */
const ONE_STEP = [0, 1];

/** Say whether a question may be about so many cells of an attribute. */
const isCells = (attribute, count) =>
  attribute instanceof Ranged
    ? Number.isSafeInteger(count) && count >= 1
    : attribute instanceof Listed && count === attribute.values.length;

/** Whether the rounding of a number is permanent: its question has a fourth entry, 0. */
const isSettled = (kind, cohort) => kind === "piecewise" && cohort === 0;

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** A sampled collection. */
export class Kind extends Questions {
  constructor(document, meaning) {
    super(document);
    const [, , domains, questions, ends] = this.listOf(meaning, "sampled", 5);
    checkNames(document.attributes);
    this.attributes = document.attributes.map((each, place) => this.#attribute(each, domains?.[place]));
    if (domains.length !== this.attributes.length) this.refuse("it has other attributes");
    this.requireCount(questions?.length);
    const { p, q } = document.mechanism;
    const epsilon = this.epsilonOf(document.mechanism.epsilon);
    const perReport = this.epsilonOf(document.mechanism.per_report, "per_report");
    this.questions = questions.map((each, place) => this.#question(each, place, epsilon));
    for (const { randomizer } of this.questions) this.#checkFresh(randomizer, perReport, [p ?? 0, q ?? 1]);
    this.ends = this.shareOf(ends, questions.length);
    this.rows = new NumberedRows(this.questions.map(({ randomizer }) => randomizer));
    this.width = this.rows.width;
    this.mean(meaning);
  }

  /** Make an attribute, which the meaning has as the document does. */
  #attribute(attribute, named) {
    const { name, values, bins, range, step } = attribute;
    const [known, domain] = Array.isArray(named) ? named : [];
    if (known !== name || domain === undefined) this.refuse(`it has another attribute in place of "${name}"`);
    if (domain === null) {
      if (!Array.isArray(attribute.candidates)) this.refuse(`"${name}" has values or a range`);
      return new AnyText(attribute);
    }
    if ((values ?? bins) === undefined || (values ?? bins) === null) {
      const isRange = Array.isArray(range) && range.length === 2 && range.every(Number.isFinite) && range[0] < range[1];
      const steps = (step ?? null) === null ? [] : [step];
      if (!isRange || !same(domain, [...range, ...steps]) || !steps.every((each) => each > 0)) this.refuse(`"${name}" has another range`);
      return new Ranged(attribute);
    }
    const made = new Listed(attribute);
    if (!same(domain, made.values)) this.refuse(`"${name}" has other values`);
    return made;
  }

  #question(question, place, epsilon) {
    const [of, kind, parameters, more] = Array.isArray(question) ? question : [];
    // Of numbers, cells are told, and then the fourth entry is how many of each attribute; otherwise it is the cohort.
    const [shape, cohort] = Array.isArray(more) ? [more] : [undefined, more];
    const isOrder = (each, i) =>
      Number.isSafeInteger(each) && each > (of[i - 1] ?? -1) && each < this.attributes.length;
    if (!(Array.isArray(of) && of.length && of.every(isOrder))) this.refuse(`question ${place} is about no attributes`);
    const asked = of.map((each) => this.attributes[each]);
    const isNumber = ["piecewise", "mean-est"].includes(kind);
    const isFit = shape
      ? shape.length === asked.length && asked.every((each, i) => isCells(each, shape[i])) && !isNumber && kind !== "bloom"
      : isSettled(kind, cohort)
        ? of.length === 1 && asked[0] instanceof Ranged
        : cohort === undefined
          ? asked.every((each) => each instanceof (isNumber ? Ranged : Listed)) && kind !== "bloom"
          : Number.isSafeInteger(cohort) &&
            cohort >= 0 &&
            of.length === 1 &&
            !isNumber &&
            (kind === "d-bit-flip" ? asked[0] instanceof Listed : !(asked[0] instanceof Ranged));
    if (!isFit || (kind === "piecewise" && of.length !== 1))
      this.refuse(`question ${place} does not fit its attributes`);
    const inputs =
      cohort !== undefined || kind === "piecewise"
        ? undefined
        : asked.reduce((count, each, i) => count * (isNumber ? 2 : (shape?.[i] ?? each.values.length)), 1);
    return { of, shape, cohort, randomizer: this.randomizer(place, kind, parameters, { inputs, epsilon }) };
  }

  /** Require that the fresh noise of a randomizer is what the file says. */
  #checkFresh({ kind, parameters, cost }, perReport, second) {
    if (kind === "repeated") {
      const one = costOfReports(cost, 1);
      if (!(one <= perReport * ROUNDING))
        this.refuse(`one report costs ${one.toFixed(6)} nats, and per_report is less`);
    }
    if (kind === "bloom" && !same([parameters.p, parameters.q], second.map(threshold)))
      this.refuse("p and q are others");
  }

  /** Convert a record to the numbers of its values, its numbers, and its texts. */
  encode(record) {
    return encodeRecord(record, this.attributes, this.name);
  }

  /** Return the number of the question that a user is asked. */
  question(secret) {
    return questionOf(this.ends, digestWords(secret, "stream-ldp qst 1", this.fingerprint, 1)[0]);
  }

  charge(values, { secret, isFresh }) {
    const costs = this.questions.map(({ randomizer }) => this.#oneReport(randomizer));
    // With fresh noise each answers a question of its own, and is charged as the one that costs most.
    const number = isFresh ? costs.indexOf(Math.max(...costs)) : this.question(secret);
    const { of, randomizer } = this.questions[number];
    const names = of.map((place) => this.attributes[place].name);
    return {
      collection: this.name,
      about: names,
      linked: false,
      parts: [
        {
          attribute: names.join(" and "),
          responses: this.responses(number),
          cost: randomizer.cost,
          shows: this.#shows(number, isFresh ? values : this.#settled(number, values, secret)),
        },
      ],
    };
  }

  #oneReport({ cost, loss }) {
    return cost.kind === "answer" ? loss : costOfReports(cost, 1);
  }

  /** Return values with a number at the end of its range to which it is rounded permanently, if it is. */
  #settled(number, values, secret) {
    const { of, cohort, randomizer } = this.questions[number];
    if (!isSettled(randomizer.kind, cohort)) return values;
    const [place] = of;
    const attribute = this.attributes[place];
    const up = rounded(this.answerWords(secret, this.shows(number, new Uint8Array(0))), attribute.scaled(values[place]), ONE_STEP);
    return values.with(place, attribute.ends[up]);
  }

  #shows(number, values) {
    const { of, shape, cohort, randomizer } = this.questions[number];
    if (shape) return this.shows(number, joined(...this.#cells(of, shape, values).map((cell) => i64(cell))));
    if (cohort === undefined || isSettled(randomizer.kind, cohort)) {
      return this.shows(number, joined(...of.map((place) => this.attributes[place].held(values[place]))));
    }
    // Values that share their buckets share the answer.
    const buckets = this.#buckets(this.questions[number], values);
    return this.shows(number, i64(buckets.reduceRight((sum, bucket) => sum * randomizer.inputs + bucket, 0)));
  }

  row(record, { secret, words }) {
    const number = secret === undefined ? questionOf(this.ends, words.next()) : this.question(secret);
    const values = secret === undefined ? record : this.#settled(number, record, secret);
    const source = secret === undefined ? words : this.answerWords(secret, this.#shows(number, values));
    const { randomizer } = this.questions[number];
    const answer = randomizer.draw(source, this.#input(this.questions[number], values, source));
    return this.rows.row(number, randomizer, randomizer.again(words, answer));
  }

  /** Return the number of each attribute's value, or of the cell that holds its number. */
  #cells(of, shape, values) {
    return of.map((place, i) => {
      const attribute = this.attributes[place];
      return attribute instanceof Ranged ? attribute.cell(values[place], shape[i]) : values[place];
    });
  }

  /** Return the bucket of a value by each hash of a cohort. */
  #buckets({ of: [place], cohort, randomizer: { kind, parameters, inputs } }, values) {
    if (kind === "d-bit-flip") {
      const [value, { bits, cohorts }] = [values[place], parameters];
      return [value % cohorts === cohort ? Math.floor(value / cohorts) : bits];
    }
    const text = this.attributes[place].textOf(values[place]);
    const hashes = kind === "bloom" ? parameters.hashes : 1;
    return Array.from({ length: hashes }, (_, i) => bucketOf(hashes * cohort + i, text, inputs));
  }

  #input(question, values, words) {
    const { of, shape, cohort, randomizer } = question;
    const { kind } = randomizer;
    const [first] = of;
    if (cohort !== undefined && kind !== "piecewise") {
      const buckets = this.#buckets(question, values);
      return kind === "bloom" ? buckets : buckets[0];
    }
    const scaled = (place) => this.attributes[place].scaled(values[place]);
    if (kind === "piecewise") return rounded(words, scaled(first), randomizer.points);
    if (kind === "mean-est") return of.map((place) => rounded(words, scaled(place), ONE_STEP));
    const sizes = shape ?? of.map((place) => this.attributes[place].values.length);
    return this.#cells(of, sizes, values).reduce((cell, value, i) => cell * sizes[i] + value, 0);
  }
}
