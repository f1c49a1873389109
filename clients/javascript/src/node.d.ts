/** Where ledgers are kept on a disk, for programs that run in Node. */

import type { Store } from "./index.js";

/** A store in a folder, which processes may share. */
export class FileStore implements Store {
  /**
   * @param folder made where it is missing
   * @throws {ParameterError} it is no path
   */
  constructor(folder: string);
  get(key: string): Promise<string | undefined>;
  update(key: string, change: (text: string | undefined) => string): Promise<void>;
}
