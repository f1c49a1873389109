/** The README has the code that runs, and sizes that hold. */

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { sizes } from "../sizes.js";

const at = (path) => new URL(`../${path}`, import.meta.url);
const text = readFileSync(at("README.md"), "utf8");

test("code of the README stands in the examples, which run", () => {
  const examples = readdirSync(at("examples")).map((name) => readFileSync(at(`examples/${name}`), "utf8"));
  const blocks = [...text.matchAll(/```javascript\n(.*?)```/gs)].map(([, block]) => block).slice(1);
  assert.ok(blocks.length >= 3);
  for (const block of blocks)
    assert.ok(
      examples.some((each) => each.includes(block)),
      block,
    );
});

test("what a page loads for a kind is at most 26 kB, and what the README says within a tenth", () => {
  const rows = [...text.matchAll(/^\| (\w+) \| ([0-9]+\.[0-9]) \| ([0-9]+\.[0-9]) \|$/gm)].map(
    ([, kind, ...numbers]) => [kind, numbers],
  );
  const told = new Map(rows);
  for (const { kind, built, sources } of sizes()) {
    assert.ok(built <= 26_000, `${kind} loads ${built} bytes`);
    const [saidBuilt, saidSources] = told.get(kind).map((each) => 1000 * Number(each));
    assert.ok(Math.abs(built - saidBuilt) < saidBuilt / 10, `${kind}: node sizes.js`);
    assert.ok(Math.abs(sources - saidSources) < saidSources / 10, `${kind}: node sizes.js`);
  }
});
