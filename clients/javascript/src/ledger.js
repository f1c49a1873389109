/** The ledger of one user: the secret, what all reports with it have cost, and what they may (docs/wire.md, 15). */

import { blake2b } from "./blake2b.js";
import { fromHex, joined, randomBytes, toHex, u32 } from "./bytes.js";
import { BudgetExceeded, LedgerError, TooManyValues } from "./errors.js";
import { mechanismOf } from "./mechanisms.js";

const SECRET_BYTES = 32;
const VERSION = 1;

const isTerms = ({ budget, values }) =>
  Number.isFinite(budget) && budget > 0 && Number.isSafeInteger(values) && values >= 1;

/**
 * Return what the reports of some accounts have cost, in nats.
 *
 * Where several values were reported, the reports are shared out evenly among them, which costs most.
 */
function costOf(accounts) {
  return accounts.reduce((sum, { mechanism, sizes, position, tags, reports }) => {
    const cost = (count) => (count > 0 ? mechanismOf(mechanism, sizes).cost(position, count) : 0);
    const times = Math.floor(reports / tags.length);
    const more = reports % tags.length;
    return sum + more * cost(times + 1) + (tags.length - more) * cost(times);
  }, 0);
}

function parsed(text, key) {
  if (text === undefined) {
    throw new LedgerError(`there is no ledger "${key}": a new user gets one by Ledger.create`);
  }
  try {
    const state = JSON.parse(text);
    const isWhole =
      state.version === VERSION &&
      /^[0-9a-f]{64}$/.test(state.secret) &&
      isTerms(state) &&
      Number.isFinite(costOf(state.accounts));
    if (isWhole) return state;
  } catch {
    // What is wrong with the text may repeat the secret, so it is not told.
  }
  throw new LedgerError(`the ledger "${key}" is damaged, or of another version: nothing may be reported with it`);
}

/** A ledger, which has one secret. Made by `Ledger.create` and `Ledger.open`. */
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
   * @param {number} user.budget nats that all reports of the user may cost, for ever
   * @param {number} [user.values] the most values of an attribute that the user agrees to report, one after another
   * @param {string} [user.key] name of the ledger in its store
   * @returns {Promise<Ledger>}
   * @throws {LedgerError} the store has this ledger already, or the terms make no sense
   */
  static async create({ store, budget, values = 1, key = "user" }) {
    if (!isTerms({ budget, values })) {
      throw new LedgerError("a budget is a positive number of nats, and values a whole number from 1 on");
    }
    const secret = randomBytes(SECRET_BYTES);
    await store.update(key, (text) => {
      if (text !== undefined) throw new LedgerError(`there is a ledger "${key}" already: Ledger.open opens it`);
      return JSON.stringify({ version: VERSION, secret: toHex(secret), budget, values, accounts: [] });
    });
    return new Ledger(store, key, secret);
  }

  /**
   * Open the ledger of a user who has one.
   *
   * @param {{store: import("./store.js").Store, key?: string}} user as for `create`
   * @returns {Promise<Ledger>}
   * @throws {LedgerError} it is missing or damaged; it does not begin anew by itself
   */
  static async open({ store, key = "user" }) {
    return new Ledger(store, key, fromHex(parsed(await store.get(key), key).secret));
  }

  /** The user's secret, 32 bytes, which is never sent. */
  get secret() {
    return this.#secret;
  }

  /** Return what was spent, in nats. @returns {Promise<number>} */
  async spent() {
    return costOf(parsed(await this.store.get(this.key), this.key).accounts);
  }

  /**
   * Change the terms, to which the user has agreed.
   *
   * @param {{budget: number, values: number}} terms as for `create`
   */
  async agree({ budget, values }) {
    if (!isTerms({ budget, values })) {
      throw new LedgerError("a budget is a positive number of nats, and values a whole number from 1 on");
    }
    await this.#update((state) => ({ ...state, budget, values }));
  }

  /**
   * Count one report of a record; resolves once the new state is kept, so that the report may leave.
   *
   * @param {import("./collection.js").Collection} collection
   * @param {number[]} values numbers of the record's values
   * @returns {Promise<void>}
   * @throws {BudgetExceeded} the budget does not cover it
   * @throws {TooManyValues} a value has changed, and the user has not agreed to that
   * @throws {LedgerError} the ledger is missing or damaged
   */
  async spend(collection, values) {
    const shown = collection.attributes.map(({ name }, position) => this.#shown(collection, name, position, values));
    await this.#update((state) => {
      const accounts = shown.reduce((known, report) => after(known, report, state.values), state.accounts);
      const cost = costOf(accounts);
      if (cost > state.budget) {
        throw new BudgetExceeded(
          `with this report the user would have spent ${cost.toFixed(3)} of ${state.budget} nats: nothing was sent`,
        );
      }
      return { ...state, accounts };
    });
  }

  async #update(change) {
    await this.store.update(this.key, (text) => {
      const state = parsed(text, this.key);
      if (state.secret !== toHex(this.#secret)) throw new LedgerError(`the ledger "${this.key}" has another secret now`);
      return JSON.stringify(change(state));
    });
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
function after(accounts, { account, tag }, mostValues) {
  const name = JSON.stringify(account);
  const nameOf = ({ tags: _, reports: __, ...own }) => JSON.stringify(own);
  // Accounts with one context show the same permanent responses, through different fresh noise.
  const alike = accounts.filter(({ context }) => context === account.context);
  const tags = new Set([...alike.flatMap((each) => each.tags), tag]);
  if (tags.size > mostValues) {
    throw new TooManyValues(
      `attribute "${account.attribute}" has another value than was reported before, and the user has agreed to report ` +
        `${mostValues} of its values: nothing was sent`,
    );
  }
  const known = accounts.find((each) => nameOf(each) === name) ?? { ...account, tags: [], reports: 0 };
  // Sorted, or their order would show which came first.
  const next = { ...known, tags: [...new Set([...known.tags, tag])].sort(), reports: known.reports + 1 };
  return [...accounts.filter((each) => each !== known), next];
}
