/** The declarations for TypeScript name what the package exports, and nothing that it does not have. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import * as client from "../src/index.js";

const text = await readFile(new URL("../src/index.d.ts", import.meta.url), "utf8");

test("every export is declared, and every declared class or function is exported", () => {
  const declared = [...text.matchAll(/^export (?:class|function) (\w+)/gm)].map(([, name]) => name);
  assert.deepEqual(declared.sort(), Object.keys(client).sort());
});

test("every declared method is one of its class", () => {
  const found = [];
  for (const [, name, body] of text.matchAll(/^export class (\w+)[^{]*{\n(.*?)^}/gms)) {
    for (const [, fixed, method] of body.matchAll(/^ {2}(static )?(?:get )?(\w+)\(/gm)) {
      if (method === "constructor") continue;
      const owner = fixed ? client[name] : client[name].prototype;
      assert.ok(Object.hasOwn(owner, method), `${name} has no ${method}`);
      found.push(method);
    }
  }
  assert.ok(found.includes("reportMany") && found.includes("create") && found.includes("passes"));
});
