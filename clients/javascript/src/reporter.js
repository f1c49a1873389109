/** The reporter: it perturbs what users hold, charges them, and sends what is left of it. */

import { HEADER_BYTES, MAX_BYTES, encodeBatch, shuffled } from "./batch.js";
import { toHex } from "./bytes.js";
import { Collection } from "./collection.js";
import { AlreadyReported, LedgerError, ParameterError, ReportRefused, TurnTaken } from "./errors.js";
import { RESOLUTION, freshWords, randomBytes, uniform } from "./words.js";

const BATCH_ID_BYTES = 16;

/** Most reports of a batch by default: at some microseconds for each, its event time is not old when it leaves. */
const MAX_REPORTS = 1000;

/** Longest time between two looks at rounds, and at the clock, in milliseconds: machines sleep, and clocks are set. */
const LOOK_MS = 30_000;
const LOOKS_A_WINDOW = 20;

const sleep = (ms, signal) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => resolve(clearTimeout(timer)), { once: true });
  });

/** Whether the user has reported what was asked already, as a page that is visited again finds. */
const hasAnswered = (why) => why instanceof AlreadyReported || why instanceof TurnTaken;

/** A batch that is being gathered: what is awaited settles once the gateway has it, or has not taken it. */
class Gathered {
  rows = [];

  constructor(inquiry) {
    this.inquiry = inquiry;
    this.sent = new Promise((resolve, reject) => Object.assign(this, { resolve, reject }));
    // Whoever waits for it is told. If nobody does any more, that must not end the program.
    this.sent.catch(() => {});
  }
}

/** A reporter for one collection. */
export class Reporter {
  #gateway;
  #collection;
  #clock;
  #mostReports;
  #linger;
  #noise;
  #pause;
  #open = new Map();
  #onTheirWay = new Set();
  #checked = false;

  /**
   * @param {object} parts
   * @param {import("./gateway.js").Gateway} parts.gateway
   * @param {import("./collection.js").Collection} parts.collection
   * @param {() => number} [parts.clock] the time, milliseconds since 1970-01-01 UTC
   * @param {number} [parts.mostReports] of one batch
   * @param {number} [parts.linger] seconds that a report waits for those of other calls to share its batch; 0 to send
   *   it at once
   * @param {() => import("./words.js").Words} [parts.noise] the source of noise of a report: the operating system's
   *   generator, unless this is a test
   * @param {(ms: number, signal: AbortSignal) => Promise<void>} [parts.pause] waits for so long, or for the signal
   * @throws {ParameterError} one of them is missing, or none
   */
  constructor({
    gateway,
    collection,
    clock = Date.now,
    mostReports = MAX_REPORTS,
    linger = 0,
    noise = freshWords,
    pause = sleep,
  } = {}) {
    if (typeof gateway?.send !== "function") throw new ParameterError("a reporter needs a gateway: new Gateway(url)");
    if (!(collection instanceof Collection)) {
      throw new ParameterError("a reporter needs a collection: await gateway.collection(name)");
    }
    if (typeof clock !== "function") throw new ParameterError("clock is a function");
    if (!(mostReports >= 1)) throw new ParameterError("mostReports is a number from 1 on");
    if (!(typeof linger === "number" && linger >= 0 && linger <= 3600)) {
      throw new ParameterError("linger is a number of seconds, at most an hour");
    }
    this.#gateway = gateway;
    this.#collection = collection;
    this.#clock = clock;
    this.#mostReports = Math.floor(mostReports);
    this.#linger = linger;
    this.#noise = noise;
    this.#pause = pause;
  }

  /**
   * Report what one user holds: a record, or a set of items, to each round that is open and asks the user.
   *
   * @param {Record<string, unknown> | Iterable<string | number>} held
   * @param {import("./ledger.js").Ledger} ledger the user's
   * @param {object} [options] see `reportMany`
   * @returns {Promise<number>} reports that the brokers have; 0 if the user is not asked now, or has reported to all
   * @throws see `reportMany`
   */
  async report(held, ledger, options) {
    return this.reportMany([{ record: held, ledger }], options);
  }

  /**
   * Report what each of many users holds, in as few batches as they fit in.
   *
   * @param {{record: Record<string, unknown> | Iterable<string | number>, ledger: import("./ledger.js").Ledger}[]} users
   * @param {object} [options]
   * @param {(place: number, why: Error) => void} [options.onRefused] told whose ledger refuses the report; without it,
   *   the first such error is thrown once the reports of all others are sent
   * @param {(place: number, receipt: import("./receipt.js").Receipt) => void} [options.onReceipt] given the receipt of
   *   each report, for its user, before it leaves
   * @returns {Promise<number>} number of their reports, which the brokers have
   * @throws {import("./errors.js").DataError} a record does not fit; nothing was charged or sent
   * @throws {import("./errors.js").CollectionError} the gateway has another collection; nothing was charged or sent
   * @throws {import("./errors.js").ReportRefused} see `onRefused`
   * @throws {import("./errors.js").GatewayError} reports are charged, but not acknowledged; the error has the batch,
   *   which may be sent again
   */
  async reportMany(users, { onRefused, onReceipt } = {}) {
    if (!Array.isArray(users)) throw new ParameterError("reportMany takes a list, [{ record, ledger }, ...]");
    const held = users.map((user) => this.#collection.encode(user?.record));
    const without = users.findIndex(({ ledger }) => typeof ledger?.spend !== "function");
    if (without !== -1) throw new LedgerError(`user ${without} has no ledger: nothing was sent`);
    await this.#check();
    const rounds = this.#collection.hasRounds ? await this.#gateway.rounds(this.#collection.name) : [];
    const batches = new Map();
    const refused = [];
    for (const [place, { ledger }] of users.entries()) {
      const timeMs = this.#timeMs();
      for (const inquiry of this.#collection.asked({ secret: ledger.secret, timeMs, rounds })) {
        try {
          const { row, receipt } = await this.#paidRow(inquiry, held[place], ledger, timeMs);
          const batch = this.#gather(inquiry, row, timeMs);
          batches.set(batch, (batches.get(batch) ?? 0) + 1);
          onReceipt?.(place, receipt);
        } catch (why) {
          if (hasAnswered(why)) continue;
          if (!(why instanceof ReportRefused || why instanceof LedgerError)) throw why;
          refused.push([place, why]);
        }
      }
    }
    if (this.#linger === 0) this.#sendAll();
    await Promise.all([...batches.keys()].map(({ sent }) => sent));
    for (const [place, why] of refused) {
      if (onRefused === undefined) throw why;
      onRefused(place, why);
    }
    return [...batches.values()].reduce((sum, count) => sum + count, 0);
  }

  /**
   * Report a user's set of items to each round that asks the user, at a random moment of what is left of its window,
   * until a signal ends that.
   *
   * @param {Iterable<string | number> | (() => Iterable<string | number>)} items the set, or what returns the one that
   *   is held at the moment
   * @param {import("./ledger.js").Ledger} ledger the user's
   * @param {object} options
   * @param {AbortSignal} options.signal ends it
   * @param {(why: Error) => void} [options.onRefused] told what the ledger refuses; without it, that is thrown
   * @param {(receipt: import("./receipt.js").Receipt) => void} [options.onReceipt] given the receipt of each report
   * @returns {Promise<number>} reports that the brokers have, once the signal has come
   * @throws see `reportMany`
   */
  async follow(items, ledger, { signal, onRefused, onReceipt } = {}) {
    if (!this.#collection.hasRounds) throw new ParameterError("only collections of item sets are followed: use report");
    if (typeof signal?.addEventListener !== "function")
      throw new ParameterError("follow needs a signal, which ends it");
    if (typeof ledger?.spend !== "function") throw new LedgerError("the user has no ledger: nothing was sent");
    const held = () => this.#collection.encode(typeof items === "function" ? items() : items);
    held();
    await this.#check();
    const moments = new Map();
    let reports = 0;
    for (let rounds = [], looked = -Infinity; !signal.aborted;) {
      let timeMs = this.#timeMs();
      const lookMs = Math.min(LOOK_MS, this.#collection.paneMs / LOOKS_A_WINDOW);
      if (Math.abs(timeMs - looked) >= lookMs) {
        rounds = await this.#gateway.rounds(this.#collection.name);
        looked = timeMs = this.#timeMs();
      }
      const asked = this.#collection.asked({ secret: ledger.secret, timeMs, rounds });
      for (const key of moments.keys()) if (!asked.some((each) => each.key === key)) moments.delete(key);
      for (const { key, closesMs } of asked) {
        const left = Math.min(Math.max(1, Math.floor(closesMs - timeMs)), RESOLUTION);
        if (!moments.has(key)) moments.set(key, timeMs + uniform(freshWords(), left));
      }
      for (const inquiry of asked.filter(({ key }) => moments.get(key) <= timeMs)) {
        moments.set(inquiry.key, Infinity);
        reports += await this.#follow(inquiry, held(), ledger, { onRefused, onReceipt });
      }
      const next = Math.min(looked + lookMs, ...moments.values()) - timeMs;
      await this.#pause(Math.min(Math.max(next, 1), lookMs), signal);
    }
    return reports;
  }

  /** Report to one round that is due. */
  async #follow(inquiry, held, ledger, { onRefused, onReceipt }) {
    const timeMs = this.#timeMs();
    if (!(timeMs < inquiry.closesMs)) return 0;
    try {
      const { row, receipt } = await this.#paidRow(inquiry, held, ledger, timeMs);
      const batch = this.#gather(inquiry, row, timeMs);
      onReceipt?.(receipt);
      if (this.#linger === 0) this.#sendAll();
      await batch.sent;
      return 1;
    } catch (why) {
      if (hasAnswered(why)) return 0;
      if (!(why instanceof ReportRefused) || onRefused === undefined) throw why;
      onRefused(why);
      return 0;
    }
  }

  /**
   * Send what lingers now.
   *
   * @returns {Promise<void>} settled once the gateway has it
   * @throws {import("./errors.js").GatewayError} reports are charged, but not acknowledged
   */
  async flush() {
    this.#sendAll();
    await Promise.all(this.#onTheirWay);
  }

  async #check() {
    if (!this.#checked) await this.#gateway.check(this.#collection);
    this.#checked = true;
  }

  #timeMs() {
    const timeMs = Math.floor(this.#clock());
    if (Number.isSafeInteger(timeMs)) return timeMs;
    throw new ParameterError("the clock gives milliseconds since 1970-01-01 UTC");
  }

  /** The noise is drawn after the charge, under the terms of the charge: they may change in another tab. */
  async #paidRow(inquiry, held, ledger, timeMs) {
    const { fresh, receipt } = await ledger.spend(inquiry, held, { timeMs });
    const row = inquiry.row(held, { secret: fresh ? undefined : ledger.secret, words: this.#noise(), timeMs });
    return { row, receipt: receipt.of(row) };
  }

  /** Let a row wait for its batch to fill, and return the batch. */
  #gather(inquiry, row, timeMs) {
    const name = toHex(inquiry.fingerprint);
    let batch = this.#open.get(name);
    // A batch has one event time, and all of its reports belong to the windows of that.
    if (batch !== undefined && this.#collection.paneOf(batch.timeMs) !== this.#collection.paneOf(timeMs)) {
      this.#send(name);
      batch = undefined;
    }
    if (batch === undefined) {
      batch = new Gathered(inquiry);
      this.#open.set(name, batch);
      if (this.#linger > 0) batch.timer = setTimeout(() => this.#send(name), 1000 * this.#linger);
    }
    batch.rows.push(row);
    batch.timeMs = timeMs;
    const fits = Math.floor((MAX_BYTES - HEADER_BYTES) / inquiry.width);
    if (batch.rows.length >= Math.min(this.#mostReports, fits)) this.#send(name);
    return batch;
  }

  #sendAll() {
    for (const name of [...this.#open.keys()]) this.#send(name);
  }

  #send(name) {
    const batch = this.#open.get(name);
    this.#open.delete(name);
    clearTimeout(batch.timer);
    const bytes = encodeBatch({
      fingerprint: batch.inquiry.fingerprint,
      batchId: randomBytes(BATCH_ID_BYTES),
      timeMs: this.#collection.rounded(batch.timeMs),
      rows: shuffled(batch.rows),
    });
    this.#onTheirWay.add(batch.sent);
    Promise.resolve(this.#gateway.send(this.#collection.name, bytes))
      .then(batch.resolve, batch.reject)
      .finally(() => this.#onTheirWay.delete(batch.sent));
  }
}
