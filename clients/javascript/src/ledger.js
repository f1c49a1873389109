/** The ledger of one user: the secret, what all reports with it have cost, and what they may (docs/wire.md, 15). */

import { crc32 } from "./batch.js";
import { blake2b } from "./blake2b.js";
import { fromHex, toHex, utf8 } from "./bytes.js";
import { costOfReports, isCost, isRounded, mostRounding, sharedCost } from "./costs.js";
import {
  AlreadyReported,
  BudgetExceeded,
  DayBudgetExceeded,
  LedgerError,
  LedgerLost,
  LinkingRefused,
  SpanBudgetExceeded,
  StreamLDPError,
  TooManyValues,
  TurnTaken,
} from "./errors.js";
import { Receipt } from "./receipt.js";
import { randomBytes } from "./words.js";

const SECRET_BYTES = 32;
const VERSION = 1;
const DAY_MS = 86_400_000;

/**
 * Most days whose spending is remembered. The budget of a day that is forgotten would begin anew if a clock went back
 * to it; a clock that is wrong in turns by so many different days is not to be expected.
 */
const MAX_DAYS = 8;

/** Most days of a budget that renews: ten years, longer than any collection of a stream. */
const MAX_SPAN_DAYS = 3660;

/** Parts of the days that have a budget of their own: a charge counts for longer than them by one part, 1.6 %. */
const SPAN_PARTS = 64;

/** Most ranges of epochs that an account of a phase remembers: one wrong clock must not end a user's reports. */
const MAX_RANGES = 64;

/**
 * What a user has agreed to.
 *
 * @typedef {object} Terms
 * @property {number} budget nats that all reports may cost in a lifetime; with Infinity, they are only counted
 * @property {number} perDay nats that all reports of one day, UTC, may cost; Infinity leaves it to the budget
 * @property {number} perSpan nats that all reports of any `spanDays` days that follow each other may cost, whenever they
 *   begin; Infinity leaves it to the others
 * @property {number} spanDays number of those days, of 24 hours each; 0 where `perSpan` is Infinity, and only there
 * @property {number} values the most values of an attribute that may be reported, one after another, with permanent
 *   noise
 * @property {boolean} fresh whether the permanent noise of every report is drawn anew, so that values may change in any
 *   way, and each report costs as much as the first
 * @property {boolean} linked whether reports may carry a pseudonym that the user keeps for a period, where a collection
 *   asks for it: they cost the same, and who reads them learns which are one user's
 */
const NEW_USER = { perDay: Infinity, perSpan: Infinity, spanDays: 0, values: 1, fresh: false, linked: false };

/** Require that terms make sense. @returns {Terms} */
function checked(terms) {
  const { budget, perDay, perSpan, spanDays, values, fresh, linked, ...others } = terms;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw new LedgerError(`"${unknown}" is no part of a user's terms`);
  if (!(typeof budget === "number" && budget > 0)) throw new LedgerError("a budget is a positive number of nats");
  if (!(typeof perDay === "number" && perDay > 0)) {
    throw new LedgerError("perDay is a positive number of nats, or Infinity");
  }
  if (!(typeof perSpan === "number" && perSpan > 0)) {
    throw new LedgerError("perSpan is a positive number of nats, or Infinity");
  }
  if (!(Number.isSafeInteger(spanDays) && spanDays >= 0 && spanDays <= MAX_SPAN_DAYS)) {
    throw new LedgerError(`spanDays is a whole number from 1 to ${MAX_SPAN_DAYS}, or 0 without perSpan`);
  }
  if (spanDays > 0 !== perSpan < Infinity) {
    throw new LedgerError(
      "a budget of some days has a number of days, spanDays, and nats, perSpan: give both, or 0 and Infinity for none",
    );
  }
  if (!(Number.isSafeInteger(values) && values >= 1)) throw new LedgerError("values is a whole number from 1 on");
  if (typeof fresh !== "boolean") throw new LedgerError("fresh is true or false");
  if (typeof linked !== "boolean") throw new LedgerError("linked is true or false");
  return { budget, perDay, perSpan, spanDays, values, fresh, linked };
}

/** Return the terms in a state. @returns {Terms} */
const termsOf = ({ version, secret, days, recent, accounts, phases, turns, ...terms }) => terms;

/**
 * Return what all reports have cost, in nats.
 *
 * A report with fresh permanent noise costs as much as the first, whatever came before it. Costs of reports to phases
 * add up.
 */
function costOf({ accounts, phases }) {
  const shown = accounts.reduce(
    (sum, { cost, tags, reports, fresh }) =>
      sum + sharedCost(cost, { responses: tags.length, reports }) + (fresh && fresh * costOfReports(cost, 1)),
    0,
  );
  return phases.reduce((sum, { epsilon, reports }) => sum + epsilon * reports, shown);
}

/** Return what a report has cost that has taken the state from one to another; never too little. */
function costBetween(before, after, parts) {
  const spent = costOf(before);
  const cost = Math.max(0, costOf(after) - spent);
  // What is not rounded must fit into a budget that is as large, and what costs nothing more into one that is spent.
  if (!parts.some(({ cost: each }) => isRounded(each))) return cost;
  // Both costs are rounded up: the rounding of what is subtracted is not the user's.
  const costs = before.accounts.reduce((sum, { tags, fresh }) => sum + tags.length + fresh, before.phases.length);
  return cost + mostRounding(spent, costs);
}

const spentOn = (days, day) => days.find(([each]) => each === day)?.[1] ?? 0;

/** Return what was spent on each day, with a cost more on one of them. */
function afterOnDay(days, day, cost) {
  return [...days.filter(([each]) => each !== day), [day, spentOn(days, day) + cost]].slice(-MAX_DAYS);
}

/** Return what was spent in a span that ends at a time, and after it. */
function spentIn(recent, spanDays, timeMs) {
  return recent.reduce((sum, [endMs, spent]) => sum + (endMs > timeMs - spanDays * DAY_MS ? spent : 0), 0);
}

/**
 * Return what was spent by when, with a cost more at a time.
 *
 * Times are rounded up to the end of one of `SPAN_PARTS` parts of the span, so that few are remembered. What has counted
 * for twice the span is forgotten: so a clock that was ahead by less than the span has renewed nothing.
 */
function afterInSpan(recent, spanDays, timeMs, cost) {
  if (spanDays === 0) return [];
  const spanMs = spanDays * DAY_MS;
  const partMs = spanMs / SPAN_PARTS;
  const kept = new Map(recent.filter(([endMs]) => endMs > timeMs - 2 * spanMs));
  const endMs = (Math.floor(timeMs / partMs) + 1) * partMs;
  if (cost > 0) kept.set(endMs, (kept.get(endMs) ?? 0) + cost);
  return [...kept].sort(([one], [other]) => one - other);
}

const isCount = (number) => Number.isSafeInteger(number) && number >= 0;

const isAccount = ({ cost, tags, reports, fresh }) =>
  isCost(cost) && [reports, fresh].every(isCount) && reports >= tags.length && (reports === 0 || tags.length > 0);

const isPhase = ({ epsilon, epochs, reports }) =>
  epsilon >= 0 && isCount(reports) && epochs.every(([first, last]) => first <= last);

const isTurn = ([fingerprint, number]) => typeof fingerprint === "string" && Number.isSafeInteger(number);

/** Whether it is what was spent on a day, or by a time. */
const isSpent = ([when, spent]) => Number.isSafeInteger(when) && Number.isFinite(spent) && spent >= 0;

const EMPTY = { days: [], recent: [], accounts: [], phases: [], turns: [] };

/** Write the ledger of a new user. @param {Uint8Array} [secret] a new one without it */
function newLedger({ secret = randomBytes(SECRET_BYTES), ...agreed }) {
  const terms = checked({ ...NEW_USER, ...agreed });
  if (!(secret instanceof Uint8Array && secret.length === SECRET_BYTES)) throw new LedgerError("a secret has 32 bytes");
  return written({ version: VERSION, secret: toHex(secret), ...terms, ...EMPTY });
}

/** Write a state with its checksum, by which a text that was damaged shows. */
function written(state) {
  const text = JSON.stringify(state);
  return `{"checksum":${crc32(utf8(text))},${text.slice(1)}`;
}

/** JSON has null for Infinity. */
const unlimited = (nats) => (nats === null ? Infinity : nats);

function requireStore(store) {
  if (typeof store?.get !== "function" || typeof store.update !== "function") {
    throw new LedgerError("a ledger needs a store with the methods get and update, such as new IndexedDBStore()");
  }
}

function parsed(text, key) {
  if (text === undefined) {
    throw new LedgerLost(
      `there is no ledger "${key}": a new user gets one by Ledger.create, and that of a user who had one is lost`,
    );
  }
  try {
    const { checksum, ...stored } = JSON.parse(text);
    const { budget, perDay, perSpan } = stored;
    const state = { ...stored, budget: unlimited(budget), perDay: unlimited(perDay), perSpan: unlimited(perSpan) };
    const { version, secret, days, recent, accounts, phases, turns } = state;
    checked(termsOf(state));
    const isWhole =
      checksum === crc32(utf8(JSON.stringify(stored))) &&
      version === VERSION &&
      /^[0-9a-f]{64}$/.test(secret) &&
      days.every(isSpent) &&
      recent.every(isSpent) &&
      accounts.every(isAccount) &&
      phases.every(isPhase) &&
      turns.every(isTurn) &&
      Number.isFinite(costOf(state));
    if (isWhole) return state;
  } catch {
    // What is wrong with the text may repeat the secret, so it is not told.
  }
  throw new LedgerError(`the ledger "${key}" is damaged, or of another version: nothing may be reported with it`);
}

/** Wait for a store. What goes wrong there is the ledger's error; its message may hold a text, and is the cause's. */
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

  constructor(store, key, secret, isNew) {
    this.store = store;
    this.key = key;
    this.#secret = secret;
    /** Whether it was begun just now: of a user who was here before, the ledger was lost. */
    this.isNew = isNew;
  }

  /**
   * Begin the ledger of a new user, with a new secret.
   *
   * @param {object} user
   * @param {import("./store.js").Store} user.store
   * @param {string} [user.key] name of the ledger in its store
   * @param {Uint8Array} [user.secret] 32 bytes, of a user who has no other ledger with it; drawn where it is left out
   * @param {number} user.budget see `Terms`, as for all that follow
   * @param {number} [user.perDay] Infinity where it is left out
   * @param {number} [user.perSpan] Infinity where it is left out
   * @param {number} [user.spanDays] 0 where it is left out
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
      throw new LedgerError(
        `there is a ledger "${key}" already: Ledger.open opens it, Ledger.openOrCreate does either`,
      );
    };
    await answered(store.update(key, begin), key);
    return Ledger.#opened(store, key, begun);
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
    if ((await answered(store.get(key), key)) === undefined)
      await answered(
        store.update(key, (text) => text ?? begun),
        key,
      );
    return Ledger.#opened(store, key, begun);
  }

  /**
   * Open the ledger of a user who has one.
   *
   * @param {{store: import("./store.js").Store, key?: string}} user as for `create`
   * @returns {Promise<Ledger>}
   * @throws {LedgerLost} it is missing; it does not begin anew by itself
   * @throws {LedgerError} it is damaged
   */
  static async open({ store, key = "user" } = {}) {
    requireStore(store);
    return Ledger.#opened(store, key);
  }

  static async #opened(store, key, begun) {
    const text = await answered(store.get(key), key);
    const { secret } = parsed(text, key);
    return new Ledger(store, key, fromHex(secret), begun !== undefined && secret === parsed(begun, key).secret);
  }

  /** The user's secret, 32 bytes, which is never sent. */
  get secret() {
    return this.#secret;
  }

  /** Return what was spent, in nats. @returns {Promise<number>} */
  async spent() {
    return costOf(await this.#state());
  }

  /** Return the terms to which the user has agreed. @returns {Promise<Terms>} */
  async terms() {
    return termsOf(await this.#state());
  }

  /**
   * Change the terms, to which the user has agreed; what is left out stays as it is.
   *
   * @param {Partial<Terms>} terms
   * @throws {LedgerError} they make no sense
   */
  async agree(terms) {
    await this.#update((state) => ({ ...state, ...checked({ ...termsOf(state), ...terms }) }));
  }

  /**
   * Count one report; resolves once the new state is kept, so that the report may leave.
   *
   * @param {import("./collection.js").Inquiry} inquiry what it answers: a collection, or a round of one
   * @param {unknown} held as the collection's `encode` gives it
   * @param {object} [when]
   * @param {number} [when.timeMs] the time, milliseconds since 1970-01-01 UTC, which decides to what days it is charged
   * @returns {Promise<{fresh: boolean, receipt: Receipt}>} whether the report was charged as one whose permanent noise is
   *   drawn anew, as it then must be; and its receipt, which has no row yet
   * @throws {BudgetExceeded} the budget does not cover it; DayBudgetExceeded, that of the day does not;
   *   SpanBudgetExceeded, that of some days does not
   * @throws {TooManyValues} a value has changed, and the user has not agreed to that
   * @throws {LinkingRefused} it would carry what links it to others, and the user has not agreed to that
   * @throws {AlreadyReported} the user has reported to the phase in this epoch; TurnTaken, has had a turn
   * @throws {LedgerError} the ledger is missing or damaged
   */
  async spend(inquiry, held, { timeMs = Date.now() } = {}) {
    const day = Math.floor(timeMs / DAY_MS);
    let charged;
    await this.#update((state) => {
      const { collection, about, linked, parts, phase } = inquiry.charge(held, {
        secret: this.#secret,
        isFresh: state.fresh,
      });
      // Reports without permanent noise in common have nothing to be linked for.
      const isLinked = linked && !state.fresh;
      if (isLinked && !state.linked) throw new LinkingRefused(linkingRefused(collection));
      const phases = phase === undefined ? state.phases : afterPhase(state.phases, phase, collection);
      const turns = afterTurn(state.turns, inquiry.turn(timeMs), phase !== undefined);
      const shown = parts.map(({ shows, ...account }) => ({
        account: { collection, ...account },
        tag: this.#tag(shows),
      }));
      const accounts = shown.reduce((known, part) => after(known, part, state), state.accounts);
      const counted = { ...state, accounts, phases, turns };
      const [before, spent] = [costOf(state), costOf(counted)];
      const cost = Math.max(0, spent - before);
      const charge = costBetween(state, counted, parts);
      // What costs nothing more may be sent, even where stricter terms leave nothing.
      if (!(spent <= Math.max(state.budget, before))) {
        const left = Math.max(0, state.budget - before);
        throw new BudgetExceeded(`${tooDear(cost, left)} of a budget of ${state.budget}: nothing was sent`);
      }
      counted.days = afterOnDay(state.days, day, charge);
      if (!(spentOn(counted.days, day) <= Math.max(state.perDay, spentOn(state.days, day)))) {
        const left = Math.max(0, state.perDay - spentOn(state.days, day));
        throw new DayBudgetExceeded(
          `${tooDear(cost, left)} of ${state.perDay} a day, until 00:00 UTC: nothing was sent`,
        );
      }
      const { perSpan, spanDays } = state;
      counted.recent = afterInSpan(state.recent, spanDays, timeMs, charge);
      if (!(spentIn(counted.recent, spanDays, timeMs) <= Math.max(perSpan, spentIn(state.recent, spanDays, timeMs)))) {
        const left = Math.max(0, perSpan - spentIn(state.recent, spanDays, timeMs));
        const days = spanDays === 1 ? "1 day" : `${spanDays.toLocaleString("en")} days`;
        throw new SpanBudgetExceeded(`${tooDear(cost, left)} of ${perSpan} in any ${days}: nothing was sent`);
      }
      const receipt = new Receipt({ collection, about, linked: isLinked, cost, spent, budget: state.budget });
      charged = { fresh: state.fresh, receipt };
      return counted;
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
      return written(change(state));
    };
    await answered(this.store.update(this.key, changed), this.key);
  }

  /** Name a permanent response, so that its value does not stand in the ledger. */
  #tag(shows) {
    return toHex(blake2b(shows, { key: this.#secret, person: "stream-ldp tag 1", length: 8 }));
  }
}

const linkingRefused = (collection) =>
  `collection "${collection}" links the reports of a user, by a pseudonym or what is as good as one, and this user has ` +
  "not agreed to that: nothing was sent; if the user agrees, ledger.agree({ linked: true })";

/** The cost is rounded up and the rest down, or a report that exceeds it by little would look as if it fitted. */
const tooDear = (cost, left) =>
  `to report this would cost ${(Math.ceil(cost * 1000) / 1000).toFixed(3)} nats of privacy, and ` +
  `${(Math.floor(left * 1000) / 1000).toFixed(3)} are left`;

/** Return the accounts after one more report that shows a permanent response. */
function after(accounts, { account, tag }, { values: mostValues, fresh: isFresh }) {
  const name = JSON.stringify(account);
  const nameOf = ({ tags: _, reports: __, fresh: ___, ...own }) => JSON.stringify(own);
  const known = accounts.find((each) => nameOf(each) === name) ?? { ...account, tags: [], reports: 0, fresh: 0 };
  // In its place, or the order would show which was last; and sums of the same costs are then the same to the last bit.
  const changed = (now) =>
    accounts.includes(known) ? accounts.map((each) => (each === known ? now : each)) : [...accounts, now];
  if (isFresh) return changed({ ...known, fresh: known.fresh + 1 });
  // Accounts of one set of responses show the same, through different fresh noise.
  const alike = accounts.filter(({ responses }) => responses === account.responses);
  const before = new Set(alike.flatMap((each) => each.tags));
  if (!before.has(tag) && before.size >= mostValues) {
    const had = before.size === 1 ? "another value" : `${before.size} other values`;
    throw new TooManyValues(
      `attribute "${account.attribute}" has had ${had} in earlier reports, and the user has agreed to no more: ` +
        "nothing was sent",
    );
  }
  // Sorted, or their order would show which came first.
  return changed({ ...known, tags: [...new Set([...known.tags, tag])].sort(), reports: known.reports + 1 });
}

/** Return the accounts of phases after one more report, in an epoch that has had none. */
function afterPhase(phases, { fingerprint, phase, epoch, epsilon }, collection) {
  const alike = phases.filter((each) => each.fingerprint === fingerprint && each.phase === phase);
  if (alike.some(({ epochs }) => epochs.some(([first, last]) => first <= epoch && epoch <= last))) {
    throw new AlreadyReported(
      `phase ${phase} of epoch ${epoch} of collection "${collection}" has had this user's report, or may have had it: ` +
        "nothing was sent",
    );
  }
  const known = alike.find((each) => each.epsilon === epsilon);
  const { epochs, reports } = known ?? { epochs: [], reports: 0 };
  const counted = { collection, fingerprint, phase, epsilon, epochs: withEpoch(epochs, epoch), reports: reports + 1 };
  return [...phases.filter((each) => each !== known), counted];
}

/**
 * Return the last turns after one more. Turns only go forward: a clock that was ahead costs the turns until then, and one
 * that is behind gives none.
 *
 * @param {boolean} isAgain whether more may be reported in the last turn, as to another phase of an epoch
 */
function afterTurn(turns, turn, isAgain) {
  if (turn === undefined) return turns;
  const { fingerprint, number, every } = turn;
  const [, last] = turns.find(([each]) => each === fingerprint) ?? [fingerprint, -Infinity];
  if (number < last + every && !(isAgain && number === last)) {
    throw new TurnTaken(
      `a user reports once in ${every} windows, or epochs, and the ledger has a report in one of those around number ` +
        `${number}: nothing was sent; the next may be in number ${last + every}`,
    );
  }
  return [...turns.filter(([each]) => each !== fingerprint), [fingerprint, number]];
}

/** Add an epoch to ranges of epochs; where there are too many, those between the two nearest ranges are over, too. */
function withEpoch(epochs, epoch) {
  const ranges = [...epochs, [epoch, epoch]].sort(([one], [other]) => one - other);
  for (;;) {
    const gaps = ranges.slice(1).map(([begin], i) => begin - ranges[i][1]);
    const least = Math.min(...gaps);
    if (!(least <= 1 || ranges.length > MAX_RANGES)) return ranges;
    const place = gaps.indexOf(least);
    ranges.splice(place, 2, [ranges[place][0], ranges[place + 1][1]]);
  }
}
