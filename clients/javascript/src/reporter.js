/** The reporter: it perturbs records, charges their users, and sends what is left of them. */

import { HEADER_BYTES, MAX_BYTES, encodeBatch, shuffled } from "./batch.js";
import { joined, randomBytes, randomWords } from "./bytes.js";
import { Collection, PSEUDONYM_BYTES } from "./collection.js";
import { LedgerError, ReportRefused } from "./errors.js";
import { Receipt } from "./ledger.js";

const BATCH_ID_BYTES = 16;

/** Most reports of a batch by default: at about a millisecond for each, its event time is a second old when it leaves. */
const MAX_REPORTS = 1000;

/** A reporter for one collection. */
export class Reporter {
  #gateway;
  #collection;
  #clock;
  #mostReports;
  #checked = false;

  /**
   * @param {object} parts
   * @param {import("./gateway.js").Gateway} parts.gateway
   * @param {import("./collection.js").Collection} parts.collection
   * @param {() => number} [parts.clock] the time, milliseconds since 1970-01-01 UTC
   * @param {number} [parts.mostReports] of one batch
   */
  constructor({ gateway, collection, clock = Date.now, mostReports = MAX_REPORTS } = {}) {
    if (typeof gateway?.send !== "function") throw new TypeError("a reporter needs a gateway: new Gateway(url)");
    if (!(collection instanceof Collection)) {
      throw new TypeError("a reporter needs a collection: await gateway.collection(name)");
    }
    this.#gateway = gateway;
    this.#collection = collection;
    this.#clock = clock;
    this.#mostReports = Math.min(mostReports, Math.floor((MAX_BYTES - HEADER_BYTES) / collection.width));
  }

  /**
   * Report the record of one user.
   *
   * @param {Record<string, string | number>} record
   * @param {import("./ledger.js").Ledger} ledger the user's
   * @param {object} [options] see `reportMany`
   * @returns {Promise<number>} 1 once the brokers have the report; 0 if the user is not asked now
   * @throws see `reportMany`
   */
  async report(record, ledger, options) {
    return this.reportMany([{ record, ledger }], options);
  }

  /**
   * Report one record for each of many users, in as few batches as they fit in.
   *
   * @param {{record: Record<string, string | number>, ledger: import("./ledger.js").Ledger}[]} users
   * @param {object} [options]
   * @param {(place: number, why: Error) => void} [options.onRefused] told whose ledger refuses the report; without it,
   *   the first such error is thrown once the reports of all others are sent
   * @param {(place: number, receipt: import("./ledger.js").Receipt) => void} [options.onReceipt] given the receipt of each
   *   report, for its user, before it leaves
   * @returns {Promise<number>} number of reports that the brokers have
   * @throws {import("./errors.js").DataError} a record does not fit; nothing was charged or sent
   * @throws {import("./errors.js").CollectionError} the gateway has another collection; nothing was charged or sent
   * @throws {import("./errors.js").ReportRefused} see `onRefused`
   * @throws {import("./errors.js").GatewayError} reports are charged, but not acknowledged; the error has the batch,
   *   which may be sent again
   */
  async reportMany(users, { onRefused, onReceipt } = {}) {
    if (!Array.isArray(users)) throw new TypeError("reportMany takes a list, [{ record, ledger }, ...]");
    const values = users.map((user) => this.#collection.encode(user?.record));
    const without = users.findIndex(({ ledger }) => typeof ledger?.spend !== "function");
    if (without !== -1) throw new LedgerError(`user ${without} has no ledger: nothing was sent`);
    if (!this.#checked) await this.#gateway.check(this.#collection);
    this.#checked = true;
    const most = this.#mostReports;
    const refused = [];
    let reports = 0;
    for (let start = 0; start < users.length; start += most) {
      const timeMs = Math.floor(this.#clock());
      if (!Number.isSafeInteger(timeMs)) throw new TypeError("the clock gives milliseconds since 1970-01-01 UTC");
      const rows = [];
      for (let place = start; place < Math.min(start + most, users.length); place++) {
        const { ledger } = users[place];
        if (!this.#collection.asks(ledger.secret, timeMs)) continue;
        try {
          const { row, receipt } = await this.#paidRow(values[place], ledger, timeMs);
          rows.push(row);
          onReceipt?.(place, receipt);
        } catch (why) {
          if (!(why instanceof ReportRefused || why instanceof LedgerError)) throw why;
          refused.push([place, why]);
        }
      }
      if (rows.length > 0) reports += await this.#gateway.send(this.#collection.name, this.#batch(rows, timeMs));
    }
    for (const [place, why] of refused) {
      if (onRefused === undefined) throw why;
      onRefused(place, why);
    }
    return reports;
  }

  /** The noise is drawn after the charge, under the terms of the charge: they may change in another tab. */
  async #paidRow(values, ledger, timeMs) {
    const { mechanism } = this.#collection;
    const { fresh, receipt } = await ledger.spend(this.#collection, values, { timeMs });
    const words = fresh
      ? mechanism.wordCounts.map(randomWords)
      : this.#collection.permanentWords(ledger.secret, values);
    const sent = mechanism.row(values, words, randomWords);
    const row =
      this.#collection.linkedMs === undefined
        ? sent
        : joined(fresh ? randomBytes(PSEUDONYM_BYTES) : this.#collection.pseudonym(ledger.secret, timeMs), sent);
    return { row, receipt: new Receipt({ ...receipt, row }) };
  }

  #batch(rows, timeMs) {
    return encodeBatch({
      fingerprint: this.#collection.fingerprint,
      batchId: randomBytes(BATCH_ID_BYTES),
      timeMs: this.#collection.rounded(timeMs),
      rows: shuffled(rows),
    });
  }
}
