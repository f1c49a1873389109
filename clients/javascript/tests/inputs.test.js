/** Whatever is given, what comes is an error of this package, which repeats no value; never a raw one. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Collection, Gateway, Ledger, MemoryStore, Reporter, StreamLDPError } from "../src/index.js";
import { toHex } from "../src/bytes.js";
import { SURVEY, fileOf, golden } from "./golden.js";

const ODD = [
  undefined,
  null,
  true,
  0,
  -0,
  NaN,
  Infinity,
  -1,
  1.5,
  1e300,
  10n,
  "",
  "sEcret",
  "\ud800",
  Symbol("sEcret"),
  () => 1,
  [],
  [null],
  [["a"]],
  {},
  { length: 3 },
  Object.create(null),
  new Map([["a", 1]]),
  new Uint8Array(3),
  new Date(0),
  /x/,
  { toString: null },
  { [Symbol.toPrimitive]: 1 },
];

const CASES = [
  ["records", SURVEY, undefined, { bathing: "no", mobility: "some" }],
  ...["sampled", "views", "strings", "places", "pairs"].map((name) => {
    const [{ file, meaning, records }] = golden(name);
    return [name, file, meaning, records[0]];
  }),
  ["sets", fileOf("films"), undefined, ["Alien"]],
];

const assertOwn = (error, what) => {
  assert.ok(error instanceof StreamLDPError, `${what}: ${error?.stack}`);
};

for (const [name, file, meaning, held] of CASES) {
  test(`odd inputs of ${name} are refused by an error of the package, or taken`, async () => {
    const collection = await Collection.of(file, { meaning });
    const records = [...ODD];
    if (!Array.isArray(held))
      for (const key of Object.keys(held)) records.push(...ODD.map((odd) => ({ ...held, [key]: odd })));
    else records.push(...ODD.map((odd) => [...held, odd]), "Alien");
    const ledger = await Ledger.create({ store: new MemoryStore(), budget: 1e9, values: 1000, linked: true });
    const fetch = async (url, { method }) => {
      const known = {
        collections: [{ name: collection.name, fingerprint: toHex(collection.fingerprint) }],
        rounds: ODD.slice(0, 14).filter((odd) => typeof odd !== "bigint"),
      };
      return new Response(JSON.stringify(method === "POST" ? { reports: 1 } : known));
    };
    const clock = () => (collection.hasRounds ? collection.startOf(1, 1) : 0);
    const reporter = new Reporter({ gateway: new Gateway("http://gateway", { fetch }), collection, clock });
    let refused = 0;
    for (const record of records) {
      try {
        await reporter.report(record, ledger);
      } catch (error) {
        refused++;
        assertOwn(error, `${name}: ${typeof record}`);
        assert.ok(!error.message.includes("sEcret"), "what a user holds is not repeated");
      }
    }
    assert.ok(refused > 10);
  });

  test(`a document or a meaning of ${name} in which anything is odd is refused by an error of the package, or read`, async () => {
    const document = JSON.parse(JSON.stringify(file));
    const places = [[document, "document"]];
    const ways = [];
    for (const [node] of places) {
      for (const key of Object.keys(node)) {
        ways.push([node, key]);
        if (node[key] !== null && typeof node[key] === "object") places.push([node[key]]);
      }
    }
    for (const [node, key] of ways) {
      const kept = node[key];
      for (const odd of ODD) {
        node[key] = odd;
        await Collection.of(document, { meaning }).catch((error) => assertOwn(error, `${name}: ${key}`));
      }
      node[key] = kept;
    }
    if (meaning === undefined) return;
    const list = JSON.parse(meaning);
    const parts = list.flatMap((part, i) => [
      [list, i],
      ...(Array.isArray(part)
        ? part
            .slice(0, 3)
            .flatMap((each, j) => [[part, j], ...(Array.isArray(each) ? each.map((_, k) => [each, k]) : [])])
        : []),
    ]);
    for (const [node, key] of parts) {
      const kept = node[key];
      for (const odd of [null, "x", -1, 1.5, 2 ** 40, [], {}, [[]], true]) {
        node[key] = odd;
        await Collection.of(file, { meaning: JSON.stringify(list) }).catch((error) =>
          assertOwn(error, `${name}: meaning`),
        );
      }
      node[key] = kept;
    }
    for (const odd of ODD) {
      await Collection.of(file, { meaning: odd }).then(
        () => assert.fail("taken"),
        (error) => assertOwn(error, name),
      );
    }
  });
}

test("odd arguments of calls are refused by an error of the package", async () => {
  const collection = await Collection.of(SURVEY);
  const gateway = new Gateway("http://gateway", { fetch: async () => new Response("{}") });
  const reporter = new Reporter({ gateway, collection });
  const store = new MemoryStore();
  const ledger = await Ledger.create({ store, budget: 4 });
  for (const odd of ODD) {
    const calls = [
      () => new Gateway(odd),
      () => new Reporter({ gateway: odd, collection }),
      () => new Reporter({ gateway, collection: odd }),
      () => Collection.of(odd),
      () => Ledger.create({ store: odd, budget: 4 }),
      () => reporter.reportMany(odd),
      () => reporter.report({ bathing: "no", mobility: "some" }, odd),
      () => reporter.follow(["x"], ledger, { signal: odd }),
    ];
    for (const call of calls) {
      if (Array.isArray(odd) && odd.length === 0 && call === calls[5]) continue;
      await Promise.resolve()
        .then(call)
        .then(
          () => assert.fail(`taken: ${call} ${typeof odd}`),
          (error) => assertOwn(error, String(call)),
        );
    }
    for (const terms of [
      { budget: odd },
      { budget: 4, perDay: odd },
      { budget: 4, perSpan: odd, spanDays: 7 },
      { budget: 4, perSpan: 1, spanDays: odd },
      { budget: 4, values: odd },
      { budget: 4, secret: odd },
      { budget: 4, fresh: odd },
    ]) {
      await Ledger.create({ store: new MemoryStore(), ...terms }).catch((error) =>
        assertOwn(error, Object.keys(terms).at(-1)),
      );
    }
  }
});
