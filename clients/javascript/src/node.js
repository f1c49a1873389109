/** Where ledgers are kept on a disk, for programs that run in Node. */

import { link, mkdir, open, readFile, readdir, stat, unlink } from "node:fs/promises";
import { join } from "node:path";

import { ParameterError } from "./errors.js";
import { toHex } from "./bytes.js";
import { randomBytes } from "./words.js";

/** Milliseconds after which a draft is of a process that has ended before it could keep it. */
const OLD_MS = 60_000;

/** Ids of versions that a version names: its own, and of those that it was made from, the newest first. */
const REMEMBERED = 16;

const ignoring = (code) => (error) => {
  if (error.code !== code) throw error;
};

/** Wait until the disk has a file or a folder. */
async function synced(path) {
  const file = await open(path, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * A store in a folder, which processes may share: for each ledger a file, `<key>.<number>`, readable by its owner alone.
 *
 * A changed text is a file with the next number, linked to that name once it is on the disk. If another process has made
 * that number meanwhile, the link fails, and the change is made again of the newer text. So processes take turns without
 * a lock that one of them could leave behind. The largest number holds; smaller ones are deleted. The first line of a
 * file has ids, its own and those of the versions that it was made from.
 *
 * @implements {import("./store.js").Store}
 */
export class FileStore {
  #folder;

  /**
   * @param {string} folder made where it is missing
   * @throws {ParameterError} it is no path
   */
  constructor(folder) {
    if (typeof folder !== "string" || folder === "") throw new ParameterError("a FileStore needs the path of a folder");
    this.#folder = folder;
  }

  async get(key) {
    return (await this.#newest(nameOf(key))).text;
  }

  async update(key, change) {
    const name = nameOf(key);
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    for (;;) {
      const { number, ids, text } = await this.#newest(name);
      const id = toHex(randomBytes(8));
      const draft = join(this.#folder, `.${name}.${id}.draft`);
      await this.write(draft, `${[id, ...ids].slice(0, REMEMBERED).join(" ")}\n${change(text)}`);
      if (await this.#keep(draft, name, number + 1, id)) return;
    }
  }

  /** Write a draft, and wait for the disk. */
  async write(draft, text) {
    const file = await open(draft, "wx", 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
  }

  /** Give a draft the name that holds; false if another process was faster. */
  async #keep(draft, name, number, id) {
    const kept = join(this.#folder, `${name}.${number}`);
    try {
      await link(draft, kept);
    } catch (error) {
      ignoring("EEXIST")(error);
      return false;
    } finally {
      await unlink(draft);
    }
    await synced(this.#folder);
    // The number may have been free again since it was deleted: then a larger one holds, which was not made from this.
    const newest = await this.#newest(name);
    const isKept = newest.ids.includes(id);
    if (!isKept) await unlink(kept).catch(ignoring("ENOENT"));
    await this.#clean(name, newest.number);
    return isKept;
  }

  async #newest(name) {
    for (;;) {
      const number = Math.max(0, ...(await this.#numbers(name)));
      if (number === 0) return { number, ids: [], text: undefined };
      try {
        const [ids, ...lines] = (await readFile(join(this.#folder, `${name}.${number}`), "utf8")).split("\n");
        return { number, ids: ids.split(" "), text: lines.join("\n") };
      } catch (error) {
        ignoring("ENOENT")(error); // there is a newer one by now
      }
    }
  }

  async #files() {
    return readdir(this.#folder).catch((error) => ignoring("ENOENT")(error) ?? []);
  }

  async #numbers(name) {
    return (await this.#files()).map((each) => numberOf(each, name)).filter((number) => number !== undefined);
  }

  async #clean(name, number) {
    for (const each of await this.#files()) {
      const path = join(this.#folder, each);
      const isOlder = numberOf(each, name) < number;
      const isDraft = each.startsWith(`.${name}.`) && each.endsWith(".draft");
      if (isOlder || (isDraft && (await isOld(path)))) await unlink(path).catch(ignoring("ENOENT"));
    }
  }
}

/** Return the number of a file of a ledger; undefined for other files, such as `ada.1.7`, which is not one of `ada`. */
function numberOf(file, name) {
  const tail = file.startsWith(`${name}.`) ? file.slice(name.length + 1) : "";
  return /^[1-9][0-9]{0,14}$/.test(tail) ? Number(tail) : undefined;
}

async function isOld(path) {
  const found = await stat(path).catch((error) => ignoring("ENOENT")(error));
  return found !== undefined && Date.now() - found.mtimeMs > OLD_MS;
}

/** Return the part of file names that stands for a ledger. */
function nameOf(key) {
  if (typeof key !== "string" || key === "") throw new ParameterError("the key of a ledger is a text");
  return encodeURIComponent(key);
}
