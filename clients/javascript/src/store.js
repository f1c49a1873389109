/**
 * Where ledgers are kept.
 *
 * A store has two methods. `get(key)` resolves to the text under a key, or undefined. `update(key, change)` replaces it
 * by `change(text)`, and resolves once the new text is kept through a crash; if `change` throws, it keeps the old text
 * and rejects with the error. Nothing else may change the text in between, in another tab or process either: otherwise
 * two reports could be paid for with the same part of a budget.
 *
 * @typedef {object} Store
 * @property {(key: string) => Promise<string | undefined>} get
 * @property {(key: string, change: (text: string | undefined) => string) => Promise<void>} update
 */

/** A store in memory, for tests, and for users of a backend that keeps its ledgers itself. @implements {Store} */
export class MemoryStore {
  #texts = new Map();

  async get(key) {
    return this.#texts.get(key);
  }

  async update(key, change) {
    this.#texts.set(key, change(this.#texts.get(key)));
  }
}

const TABLE = "ledgers";

/**
 * A store in the IndexedDB of a page's origin, which its tabs and workers share.
 *
 * A text is read and replaced in one transaction, so tabs take turns; `strict` durability waits for the disk.
 *
 * @implements {Store}
 */
export class IndexedDBStore {
  #name;
  #asked;

  /** @param {string} [name] of the database */
  constructor(name = "stream-ldp") {
    this.#name = name;
  }

  async get(key) {
    let text;
    await this.#transact("readonly", (table) => {
      table.get(key).onsuccess = ({ target }) => (text = target.result);
    });
    return text;
  }

  /**
   * Ask the browser to keep the data of this origin until the user deletes it. Without its consent, it may drop them
   * when room is short, or after some days without a visit, and the user then has a new secret and a new budget.
   * @returns {Promise<boolean>} whether it will
   */
  async persist() {
    const storage = globalThis.navigator?.storage;
    if (storage?.persist === undefined) return false;
    return (await storage.persisted()) || (await storage.persist());
  }

  async update(key, change) {
    // Not awaited: a browser may ask its user, who may never answer.
    this.#asked ??= this.persist().catch(() => false);
    await this.#transact("readwrite", (table, giveUp) => {
      table.get(key).onsuccess = ({ target }) => {
        try {
          table.put(change(target.result), key);
        } catch (error) {
          giveUp(error);
        }
      };
    });
  }

  /** Do something with the table in one transaction; resolves once that is complete. */
  async #transact(mode, act) {
    const database = await this.#open();
    try {
      await new Promise((resolve, reject) => {
        const transaction = database.transaction(TABLE, mode, { durability: "strict" });
        let cause;
        transaction.oncomplete = () => resolve();
        transaction.onabort = () => reject(cause ?? transaction.error);
        act(transaction.objectStore(TABLE), (error) => {
          cause = error;
          transaction.abort();
        });
      });
    } finally {
      database.close();
    }
  }

  #open() {
    if (globalThis.indexedDB === undefined) {
      return Promise.reject(new Error("IndexedDB is missing: only pages and their workers have it"));
    }
    return new Promise((resolve, reject) => {
      const request = indexedDB.open(this.#name, 1);
      request.onupgradeneeded = () => request.result.createObjectStore(TABLE);
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
  }
}
