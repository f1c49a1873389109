/** Ledgers on a disk: processes take turns, and a text is whole at every step. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, readFile, readdir, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { Ledger } from "../src/index.js";
import { FileStore } from "../src/node.js";

async function withFolder(run) {
  const folder = await mkdtemp(join(tmpdir(), "ledgers-"));
  try {
    await run(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

const COUNT = `
import { FileStore } from ${JSON.stringify(new URL("../src/node.js", import.meta.url).href)};
const store = new FileStore(process.argv[1]);
for (let i = 0; i < 20; i++) await store.update("count", (text) => String(Number(text ?? 0) + 1));
`;

test("processes that change a text at once lose no change", () =>
  withFolder(async (folder) => {
    const counting = () =>
      new Promise((resolve) => {
        spawn(process.execPath, ["--input-type=module", "--eval", COUNT, folder], { stdio: "inherit" }).on(
          "exit",
          resolve,
        );
      });
    assert.deepEqual(await Promise.all([counting(), counting(), counting()]), [0, 0, 0]);
    assert.equal(await new FileStore(folder).get("count"), "60");
    assert.deepEqual(await readdir(folder), ["count.60"]);
  }));

test("a change that was made of an older text is made again, and never becomes the newest by its number", () =>
  withFolder(async (folder) => {
    const store = new FileStore(folder);
    await store.update("key", () => "a");
    const late = new FileStore(folder);
    const write = late.write.bind(late);
    let writes = 0;
    late.write = async (...draft) => {
      // Others make numbers 2 and 3 before the first draft is kept: number 2 is free again.
      if (++writes === 1) for (const text of ["b", "c"]) await store.update("key", () => text);
      await write(...draft);
    };
    const seen = [];
    await late.update("key", (text) => (seen.push(text), `${text} late`));
    assert.deepEqual(seen, ["a", "c"]);
    assert.equal(await store.get("key"), "c late");
    assert.deepEqual(await readdir(folder), ["key.4"]);
  }));

test("a draft that a crash has left changes nothing, and goes in time", () =>
  withFolder(async (folder) => {
    const store = new FileStore(folder);
    await store.update("key", () => "a");
    await writeFile(join(folder, ".key.0.draft"), "half");
    assert.equal(await store.get("key"), "a");
    await store.update("key", () => "b");
    assert.ok((await readdir(folder)).includes(".key.0.draft"), "another process may be writing it");
    await utimes(join(folder, ".key.0.draft"), 0, 0);
    await store.update("key", () => "c");
    assert.deepEqual(await readdir(folder), ["key.3"]);
  }));

test("a ledger leaves those alone whose keys begin with its own", () =>
  withFolder(async (folder) => {
    const store = new FileStore(folder);
    const others = ["ada.", "ada.1", "ada.1.1", "ada.-1"];
    for (const key of others) await store.update(key, () => key);
    for (let i = 0; i < 3; i++) await store.update("ada", () => "ada");
    for (const key of ["ada", ...others]) assert.equal(await store.get(key), key);
  }));

test("a change that throws keeps the text, and a ledger on the disk is its owner's alone", () =>
  withFolder(async (folder) => {
    const store = new FileStore(join(folder, "below"));
    const ledger = await Ledger.create({ store, budget: 4, key: "a/../b" });
    await assert.rejects(Ledger.create({ store, budget: 5, key: "a/../b" }), { name: "LedgerError" });
    const [file] = await readdir(join(folder, "below"));
    const path = join(folder, "below", file);
    assert.equal((await stat(path)).mode & 0o077, 0);
    assert.equal((await ledger.terms()).budget, 4);
    // One digit of the secret, of the budget or of the rest: a damaged ledger stops its user.
    const text = await readFile(path, "utf8");
    for (const at of [text.indexOf('"budget":') + 9, text.indexOf('"secret":"') + 10]) {
      await writeFile(path, `${text.slice(0, at)}${text[at] === "7" ? "8" : "7"}${text.slice(at + 1)}`);
      await assert.rejects(Ledger.open({ store, key: "a/../b" }), { name: "LedgerError", message: /damaged/ });
    }
  }));

test("what is no folder or key is named", async () => {
  for (const folder of [undefined, "", 3]) assert.throws(() => new FileStore(folder), { name: "ParameterError" });
  await assert.rejects(new FileStore("x").get(3), { name: "ParameterError" });
});
