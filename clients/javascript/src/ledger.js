/** The ledger of one user: the secret, what all reports with it have cost, and what they may (docs/wire.md, 15). */

import { blake2b } from "./blake2b.js";
import { fromHex, joined, randomBytes, toHex, u32 } from "./bytes.js";
import {
  BudgetExceeded,
  DayBudgetExceeded,
  LedgerError,
  LinkingRefused,
  StreamLDPError,
  TooManyValues,
} from "./errors.js";
import { mechanismOf, mostRounding } from "./mechanisms.js";

const SECRET_BYTES = 32;
const VERSION = 1;
const DAY_MS = 86_400_000;

/**
 * Most days whose spending is remembered. The budget of a day that is forgotten would begin anew if a clock went back
 * to it; a clock that is wrong in turns by so many different days is not to be expected.
 */
const MAX_DAYS = 8;

/**
 * What a user has agreed to.
 *
 * @typedef {object} Terms
 * @property {number} budget nats that all reports may cost, for ever
 * @property {number} perDay nats that all reports of one day, UTC, may cost; Infinity leaves it to the budget
 * @property {number} values the most values of an attribute that may be reported, one after another, with permanent
 *   noise
 * @property {boolean} fresh whether the permanent noise of every report is drawn anew, so that values may change in any
 *   way, and each report costs as much as the first
 * @property {boolean} linked whether reports may carry a pseudonym that the user keeps for a period, where a collection
 *   asks for it: they cost the same, and who reads them learns which are one user's
 */
const NEW_USER = { perDay: Infinity, values: 1, fresh: false, linked: false };

const nats = (number, round) => (round(number * 1000) / 1000).toFixed(3);

/** What a report shows of its user, for the user alone: it has no true value. Show it; neither send nor log it. */
export class Receipt {
  /**
   * @param {object} parts
   * @param {string} parts.collection name
   * @param {string[]} parts.about names of the attributes that are shown with noise
   * @param {Uint8Array} [parts.row] the report, as it leaves
   * @param {boolean} parts.linked whether it carries a pseudonym
   * @param {number} parts.cost nats that it has cost
   * @param {number} parts.spent nats that all reports of the user have cost
   * @param {number} parts.budget nats that they may cost
   */
  constructor(parts) {
    Object.assign(this, parts);
    /** Nats that are left of the budget. */
    this.left = Math.max(0, this.budget - this.spent);
    /** The largest posterior of one of two records that were held for equally likely, after all reports so far. */
    this.surest = 1 / (1 + Math.exp(-this.spent));
    Object.freeze(this);
  }

  toString() {
    const bytes = this.row?.length;
    const shown = bytes > 16 ? `${toHex(this.row.subarray(0, 16))}...` : toHex(this.row ?? []);
    const what = bytes === undefined ? "a report" : `${bytes} ${bytes === 1 ? "byte" : "bytes"}, ${shown}`;
    const about = this.about.join(" and ");
    const guess = Math.ceil(this.surest * 1000) / 10;
    return (
      `To ${this.collection} left ${what}, with noise, about ${about}.` +
      (this.linked ? " It tells which reports are yours." : "") +
      ` It cost ${nats(this.cost, Math.ceil)} nats: the surest guess which of two equally likely records is yours is now ` +
      `${guess < 100 ? guess.toFixed(1) : "over 99.9"} % right, and ${nats(this.left, Math.floor)} of ${this.budget} ` +
      "are left."
    );
  }
}

/** Require that terms make sense. @returns {Terms} */
function checked(terms) {
  const { budget, perDay, values, fresh, linked, ...others } = terms;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw new LedgerError(`"${unknown}" is no part of a user's terms`);
  if (!(Number.isFinite(budget) && budget > 0)) throw new LedgerError("a budget is a positive number of nats");
  if (!(typeof perDay === "number" && perDay > 0)) {
    throw new LedgerError("perDay is a positive number of nats, or Infinity");
  }
  if (!(Number.isSafeInteger(values) && values >= 1)) throw new LedgerError("values is a whole number from 1 on");
  if (typeof fresh !== "boolean") throw new LedgerError("fresh is true or false");
  if (typeof linked !== "boolean") throw new LedgerError("linked is true or false");
  return { budget, perDay, values, fresh, linked };
}

/** Reports of one value that are told apart where they are shared unevenly; one with more is charged for ever. */
const MAX_TIMES = 64;

/** Values whose reports are shared out in the way that costs most; each of more is charged for ever, in no time. */
const MAX_SHARING = 16;

/**
 * Return the most that reports of several values may have cost: which was reported how often is not kept.
 *
 * It is the largest sum of the costs of t_1, t_2, ... reports over all t_1 + t_2 + ... = reports, each at least 1.
 *
 * @param {(times: number) => number} cost of so many reports of a value, in nats
 */
function worstSharing(cost, values, reports) {
  if (values > MAX_SHARING) return values * cost(Infinity);
  // More reports never cost less: those beyond are of values that are charged for ever already.
  const most = Math.min(reports - values + 1, MAX_TIMES + 1);
  const costs = Array.from({ length: most }, (_, i) => cost(i === MAX_TIMES ? Infinity : i + 1));
  const spare = Math.min(reports - values, values * (most - 1));
  let best = new Array(spare + 1).fill(0);
  for (let value = 0; value < values; value += 1) {
    best = best.map((_, total) => {
      const shares = costs.slice(0, total + 1).map((own, extra) => best[total - extra] + own);
      return Math.max(...shares);
    });
  }
  return best[spare];
}

/**
 * Return what the reports of some accounts have cost, in nats.
 *
 * Where several values were reported, the reports are shared out as costs most. A report with fresh permanent noise
 * costs as much as the first, whatever came before it.
 */
function costOf(accounts) {
  return accounts.reduce((sum, { mechanism, sizes, position, tags, reports, fresh }) => {
    const made = mechanismOf(mechanism, [sizes[position]]);
    const cost = (count) => (count > 0 ? made.cost(0, count) : 0);
    const times = tags.length > 0 ? Math.floor(reports / tags.length) : 0;
    const more = reports - times * tags.length;
    // Where a second report may cost more than the first, an uneven share can cost more than an even one.
    const isEvenMost = tags.length < 2 || cost(2) <= 2 * cost(1);
    const even = more * cost(times + 1) + (tags.length - more) * cost(times);
    return sum + (isEvenMost ? even : worstSharing(cost, tags.length, reports)) + fresh * cost(1);
  }, 0);
}

/** Return what was spent on each day once the reports of one have taken the accounts from one state to another. */
function daysAfter(days, day, before, after) {
  const spent = costOf(before);
  // Both costs are rounded up: the rounding of what is subtracted is not the user's.
  const costs = before.reduce((sum, { tags, fresh }) => sum + tags.length + fresh, 0);
  const more = costOf(after) - spent + mostRounding(spent, costs);
  const [, known] = days.find(([each]) => each === day) ?? [day, 0];
  return [...days.filter(([each]) => each !== day), [day, known + more]].slice(-MAX_DAYS);
}

const isCount = (number) => Number.isSafeInteger(number) && number >= 0;

const isAccount = ({ tags, reports, fresh }) =>
  [reports, fresh].every(isCount) && reports >= tags.length && (reports === 0 || tags.length > 0);

const isDay = ([day, spent]) => Number.isSafeInteger(day) && Number.isFinite(spent) && spent >= 0;

/** Write the ledger of a new user, with a new secret. */
function newLedger(agreed) {
  const terms = checked({ ...NEW_USER, ...agreed });
  return JSON.stringify({ version: VERSION, secret: toHex(randomBytes(SECRET_BYTES)), ...terms, days: [], accounts: [] });
}

function requireStore(store) {
  if (typeof store?.get !== "function" || typeof store.update !== "function") {
    throw new LedgerError("a ledger needs a store with the methods get and update, such as new IndexedDBStore()");
  }
}

function parsed(text, key) {
  if (text === undefined) {
    throw new LedgerError(`there is no ledger "${key}": a new user gets one by Ledger.create, and that of a user who had one is lost`);
  }
  try {
    const stored = JSON.parse(text);
    const state = { ...stored, perDay: stored.perDay ?? Infinity }; // for which JSON has null
    const { version, secret, days, accounts, ...terms } = state;
    checked(terms);
    const isWhole =
      version === VERSION &&
      /^[0-9a-f]{64}$/.test(secret) &&
      days.every(isDay) &&
      accounts.every(isAccount) &&
      Number.isFinite(costOf(accounts));
    if (isWhole) return state;
  } catch {
    // What is wrong with the text may repeat the secret, so it is not told.
  }
  throw new LedgerError(`the ledger "${key}" is damaged, or of another version: nothing may be reported with it`);
}

/** Wait for a store; what goes wrong there is the ledger's error, and its message, which may hold a text, the cause's. */
async function answered(promise, key) {
  try {
    return await promise;
  } catch (cause) {
    if (cause instanceof StreamLDPError) throw cause;
    throw new LedgerError(`the store of the ledger "${key}" has failed: nothing was sent`, { cause });
  }
}

/** A ledger, which has one secret. Made by `Ledger.create`, `Ledger.open` and `Ledger.openOrCreate`. */
export class Ledger {
  #secret;

  constructor(store, key, secret) {
    this.store = store;
    this.key = key;
    this.#secret = secret;
  }

  /**
   * Begin the ledger of a new user, with a new secret.
   *
   * @param {object} user
   * @param {import("./store.js").Store} user.store
   * @param {string} [user.key] name of the ledger in its store
   * @param {number} user.budget see `Terms`, as for all that follow
   * @param {number} [user.perDay] Infinity where it is left out
   * @param {number} [user.values] 1 where it is left out
   * @param {boolean} [user.fresh] false where it is left out
   * @param {boolean} [user.linked] false where it is left out
   * @returns {Promise<Ledger>}
   * @throws {LedgerError} the store has this ledger already, or the terms make no sense
   */
  static async create({ store, key = "user", ...agreed } = {}) {
    const begun = newLedger(agreed);
    requireStore(store);
    const begin = (text) => {
      if (text === undefined) return begun;
      throw new LedgerError(`there is a ledger "${key}" already: Ledger.open opens it, Ledger.openOrCreate does either`);
    };
    await answered(store.update(key, begin), key);
    return Ledger.open({ store, key });
  }

  /**
   * Open the ledger of a user who has one, and begin that of a new user: what a page does that may be visited again.
   *
   * A ledger that is there keeps its terms, whatever is given: `agree` changes them. One that is damaged is refused.
   *
   * @param {object} user as for `create`
   * @returns {Promise<Ledger>}
   * @throws {LedgerError} the ledger is damaged, or the terms make no sense
   */
  static async openOrCreate({ store, key = "user", ...agreed } = {}) {
    const begun = newLedger(agreed);
    requireStore(store);
    // Another tab may have begun it meanwhile.
    if ((await answered(store.get(key), key)) === undefined) await answered(store.update(key, (text) => text ?? begun), key);
    return Ledger.open({ store, key });
  }

  /**
   * Open the ledger of a user who has one.
   *
   * @param {{store: import("./store.js").Store, key?: string}} user as for `create`
   * @returns {Promise<Ledger>}
   * @throws {LedgerError} it is missing or damaged; it does not begin anew by itself
   */
  static async open({ store, key = "user" } = {}) {
    requireStore(store);
    return new Ledger(store, key, fromHex(parsed(await answered(store.get(key), key), key).secret));
  }

  /** The user's secret, 32 bytes, which is never sent. */
  get secret() {
    return this.#secret;
  }

  /** Return what was spent, in nats. @returns {Promise<number>} */
  async spent() {
    return costOf((await this.#state()).accounts);
  }

  /** Return the terms to which the user has agreed. @returns {Promise<Terms>} */
  async terms() {
    const { budget, perDay, values, fresh, linked } = await this.#state();
    return { budget, perDay, values, fresh, linked };
  }

  /**
   * Change the terms, to which the user has agreed; what is left out stays as it is.
   *
   * @param {Partial<Terms>} terms
   * @throws {LedgerError} they make no sense
   */
  async agree(terms) {
    await this.#update(({ version, secret, days, accounts, ...agreed }) => {
      return { version, secret, ...checked({ ...agreed, ...terms }), days, accounts };
    });
  }

  /**
   * Count one report of a record; resolves once the new state is kept, so that the report may leave.
   *
   * @param {import("./collection.js").Collection} collection
   * @param {number[]} values numbers of the record's values
   * @param {object} [when]
   * @param {number} [when.timeMs] the time, milliseconds since 1970-01-01 UTC, which decides to what day it is charged
   * @returns {Promise<{fresh: boolean, receipt: Receipt}>} whether the report was charged as one whose permanent noise is
   *   drawn anew, as it then must be; and its receipt, which has no row yet
   * @throws {BudgetExceeded} the budget does not cover it; DayBudgetExceeded, that of the day does not
   * @throws {TooManyValues} a value has changed, and the user has not agreed to that
   * @throws {LinkingRefused} it would carry a pseudonym, and the user has not agreed to that
   * @throws {LedgerError} the ledger is missing or damaged
   */
  async spend(collection, values, { timeMs = Date.now() } = {}) {
    const shown = collection.attributes.map(({ name }, position) => this.#shown(collection, name, position, values));
    const day = Math.floor(timeMs / DAY_MS);
    let charged;
    await this.#update((state) => {
      // Reports without permanent noise in common have nothing to be linked for.
      if (collection.linkedMs !== undefined && !state.fresh && !state.linked) {
        throw new LinkingRefused(
          `collection "${collection.name}" links the reports of a user by a pseudonym, to which this user has not ` +
            "agreed: nothing was sent; if the user agrees, ledger.agree({ linked: true })",
        );
      }
      const accounts = shown.reduce((known, report) => after(known, report, state), state.accounts);
      const days = daysAfter(state.days, day, state.accounts, accounts);
      const cost = costOf(accounts);
      if (!(cost <= state.budget)) {
        throw new BudgetExceeded(
          `with this report the user would have spent ${cost.toFixed(3)} of ${state.budget} nats: nothing was sent`,
        );
      }
      const [, today] = days.at(-1);
      if (!(today <= state.perDay)) {
        throw new DayBudgetExceeded(
          `with this report the user would have spent ${today.toFixed(3)} of ${state.perDay} nats a day, until 00:00 ` +
            "UTC: nothing was sent",
        );
      }
      const about = collection.attributes.map(({ name }) => name);
      const linked = collection.linkedMs !== undefined && !state.fresh;
      const before = costOf(state.accounts);
      const spent = { cost: Math.max(0, cost - before), spent: cost, budget: state.budget };
      charged = { fresh: state.fresh, receipt: new Receipt({ collection: collection.name, about, linked, ...spent }) };
      return { ...state, days, accounts };
    });
    return charged;
  }

  async #state() {
    return parsed(await answered(this.store.get(this.key), this.key), this.key);
  }

  async #update(change) {
    const changed = (text) => {
      const state = parsed(text, this.key);
      if (state.secret !== toHex(this.#secret)) {
        throw new LedgerError(`the ledger "${this.key}" has another secret now`);
      }
      return JSON.stringify(change(state));
    };
    await answered(this.store.update(this.key, changed), this.key);
  }

  #shown(collection, attribute, position, values) {
    const context = collection.contexts[position];
    const { spec: mechanism, sizes } = collection.mechanism;
    const tag = blake2b(joined(context, u32(values[position])), {
      key: this.#secret,
      person: "stream-ldp tag 1",
      length: 8,
    });
    return {
      account: { collection: collection.name, attribute, context: toHex(context), mechanism, sizes, position },
      tag: toHex(tag),
    };
  }
}

/** Return the accounts after one more report of an attribute. */
function after(accounts, { account, tag }, { values: mostValues, fresh: isFresh }) {
  const name = JSON.stringify(account);
  const nameOf = ({ tags: _, reports: __, fresh: ___, ...own }) => JSON.stringify(own);
  const known = accounts.find((each) => nameOf(each) === name) ?? { ...account, tags: [], reports: 0, fresh: 0 };
  const others = accounts.filter((each) => each !== known);
  if (isFresh) return [...others, { ...known, fresh: known.fresh + 1 }];
  // Accounts with one context show the same permanent responses, through different fresh noise.
  const alike = accounts.filter(({ context }) => context === account.context);
  const before = new Set(alike.flatMap((each) => each.tags));
  if (!before.has(tag) && before.size >= mostValues) {
    throw new TooManyValues(
      `attribute "${account.attribute}" has another value than was reported before, and the user has agreed to report ` +
        `${mostValues} of its values: nothing was sent`,
    );
  }
  // Sorted, or their order would show which came first.
  return [...others, { ...known, tags: [...new Set([...known.tags, tag])].sort(), reports: known.reports + 1 }];
}
