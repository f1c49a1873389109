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
