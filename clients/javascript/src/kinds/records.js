/** Collections of records: values of attributes, all of them in each report (docs/wire.md, sections 1 to 5). */

import { i64, joined, toHex, u32, utf8, wordsOf } from "../bytes.js";
import { blake2b } from "../blake2b.js";
import { Collection, durationMs } from "../collection.js";
import { CollectionError } from "../errors.js";
import { mechanismOf } from "../mechanisms.js";
import { sha256 } from "../sha256.js";
import { Listed, checkNames, encodeRecord, given } from "../values.js";
import { RESOLUTION, digestWords, threshold } from "../words.js";

const BLOCK_BYTES = 64;
const PSEUDONYM_BYTES = 8;

/** A collection of records. */
export class Kind extends Collection {
  constructor(document) {
    super(document);
    checkNames(document.attributes);
    this.attributes = document.attributes.map((each) => new Listed(each));
    this.mechanism = mechanismOf(
      document.mechanism,
      this.attributes.map(({ values }) => values.length),
    );
    const sample = document.sample ?? 1;
    if (!(typeof sample === "number" && sample > 0 && sample <= 1)) {
      throw new CollectionError("sample is a share of the users, above 0 and at most 1");
    }
    this.askingWords = threshold(sample);
    this.linkedMs = given(document.linked) === undefined ? undefined : this.#period(document.linked);
    this.width = this.mechanism.width + (this.linkedMs === undefined ? 0 : PSEUDONYM_BYTES);
    /** Context of each attribute (section 3), 32 bytes. */
    this.contexts = this.attributes.map(({ name, values }, j) =>
      sha256(utf8(JSON.stringify([this.name, name, values, ...this.mechanism.noise(j)]))),
    );
    this.mean(JSON.stringify(this.#meaning()));
  }

  #period(linked) {
    const linkedMs = durationMs(linked);
    // A pane that is not of one period would have two pseudonyms of a user, and show that they are.
    if (!(linkedMs % this.paneMs === 0)) {
      throw new CollectionError("linked is a whole number of windows, in milliseconds");
    }
    if (!(this.mechanism.kind === "rr-ldp" && this.mechanism.hasInstantaneous)) {
      throw new CollectionError("linked needs rr-ldp with p and q");
    }
    return linkedMs;
  }

  #meaning() {
    const values = this.attributes.map((each) => [each.name, each.values]);
    const sample = this.askingWords < RESOLUTION ? [this.askingWords, this.paneMs] : [];
    const linked = this.linkedMs === undefined ? [] : [["linked", this.linkedMs]];
    return [this.name, this.mechanism.kind, this.mechanism.meaning, values, ...sample, ...linked, ...this.turns];
  }

  /** Convert a record to the numbers of its values. @returns {number[]} */
  encode(record) {
    return encodeRecord(record, this.attributes, this.name);
  }

  asked({ secret, timeMs }) {
    return this.asks(secret, timeMs) ? super.asked({ secret, timeMs }) : [];
  }

  /** Decide whether the user with a secret is asked at a time; the same in all of a pane. */
  asks(secret, timeMs) {
    return this.askingWords === RESOLUTION || this.askingWord(secret, this.paneOf(timeMs)) < this.askingWords;
  }

  /** Return the word that decides whether a user is asked in a pane. */
  askingWord(secret, pane) {
    return digestWords(secret, "stream-ldp grp 1", joined(this.fingerprint, i64(pane)), 1)[0];
  }

  /** Return the pseudonym of a user in the period of a time (section 5), 8 bytes. */
  pseudonym(secret, timeMs) {
    const data = joined(this.fingerprint, i64(Math.floor(timeMs / this.linkedMs)));
    return blake2b(data, { key: secret, person: "stream-ldp lnk 1", length: PSEUDONYM_BYTES });
  }

  /** Return the permanent words of each attribute of a record (section 3). @returns {number[][]} */
  permanentWords(secret, record) {
    const values = this.mechanism.isHashed ? record.map(() => 0) : record;
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

  charge(record, { secret, isFresh }) {
    const hashed = this.mechanism.isHashed && !isFresh;
    const values = hashed ? this.mechanism.shown(record, this.permanentWords(secret, record)) : record;
    return {
      collection: this.name,
      about: this.attributes.map(({ name }) => name),
      linked: this.linkedMs !== undefined,
      parts: this.attributes.map(({ name }, j) => ({
        attribute: name,
        responses: toHex(this.contexts[j]),
        cost: this.mechanism.costs(j),
        shows: joined(this.contexts[j], u32(values[j])),
      })),
    };
  }

  row(values, { secret, words, timeMs }) {
    const drawn = (count) => Array.from({ length: count }, () => words.next());
    const name = this.linkedMs === undefined ? new Uint8Array(0) : this.#name(secret, timeMs, words);
    const given = secret === undefined ? this.mechanism.wordCounts.map(drawn) : this.permanentWords(secret, values);
    const permanent = this.mechanism.permanent(values, given);
    const sent = this.mechanism.instantaneous(permanent, drawn(this.mechanism.freshCount));
    return joined(name, this.mechanism.pack(sent));
  }

  /** Reports without permanent noise in common have nothing to be linked for. */
  #name(secret, timeMs, words) {
    return secret === undefined ? joined(u32(words.next()), u32(words.next())) : this.pseudonym(secret, timeMs);
  }
}
