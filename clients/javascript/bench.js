/**
 * Print microseconds of CPU a report of each kind, of one user and one core: node bench.js
 *
 * "Noise" is what perturbs a record that is encoded already; "counted" is all of `report` but the network: the record is
 * read, charged to a ledger in memory and perturbed, and its batch of 100 users is made. Collections are those of the
 * golden vectors of the repository.
 */

import { readFileSync } from "node:fs";

import { Collection, Ledger, MemoryStore, Reporter } from "./src/index.js";
import { freshWords } from "./src/words.js";

const USERS = 100;
const SECONDS = 0.5;

const golden = (name) => JSON.parse(readFileSync(new URL(`../../tests/golden/${name}.json`, import.meta.url), "utf8"));

const [first] = golden("record_reports");
const values = Array.from({ length: 2 }, (_, i) => String(i));
const wide = {
  ...first.file,
  collection: "sixteen",
  attributes: Array.from({ length: 16 }, (_, i) => ({ name: `a${i}`, values })),
};
const CASES = [
  ["records, `rr-ldp`, 2 x 3", first.file, undefined, first.record],
  ["records, `rr-ldp`, 16 x 2", wide, undefined, Object.fromEntries(wide.attributes.map(({ name }) => [name, "0"]))],
  [
    "records, `k-rr`, 16 x 2",
    { ...wide, mechanism: { kind: "k-rr", epsilon: 1 } },
    undefined,
    Object.fromEntries(wide.attributes.map(({ name }) => [name, "0"])),
  ],
  ...["sampled", "views", "strings", "places"].map((name) => {
    const [{ file, meaning, records }] = golden(name);
    return [name, file, meaning, records[0]];
  }),
  ["sets, `gfim`, 10 items", golden("item_reports")[0].file, undefined, golden("item_reports")[0].items],
];

/** Return microseconds of CPU of one call, called for half a second. */
async function microseconds(call, reports = 1) {
  for (let i = 0; i < 3; i++) await call();
  const begun = process.cpuUsage();
  const spent = () => {
    const { user, system } = process.cpuUsage(begun);
    return user + system;
  };
  let calls = 0;
  for (; spent() < 1e6 * SECONDS; calls++) await call();
  return spent() / (calls * reports);
}

console.log("| collection | noise, us | counted, us |\n|---|---:|---:|");
for (const [name, file, meaning, held] of CASES) {
  const collection = await Collection.of(file, { meaning });
  const timeMs = collection.hasRounds ? collection.startOf(9_777_777, 1) : 1_760_000_000_000;
  const secret = new Uint8Array(32).fill(7);
  const [inquiry] = collection.asked({ secret, timeMs, rounds: [] });
  const encoded = collection.encode(held);
  const noise = await microseconds(async () => inquiry.row(encoded, { secret, words: freshWords(), timeMs }));
  const gateway = { check: async () => {}, rounds: async () => [], send: async () => 1 };
  const store = new MemoryStore();
  let epoch = 9_777_777;
  const clock = () => (collection.hasRounds ? collection.startOf(epoch, 1) : timeMs);
  const reporter = new Reporter({ gateway, collection, clock });
  const terms = { budget: 1e9, linked: true };
  const users = await Promise.all(
    Array.from({ length: USERS }, async (_, i) => ({
      record: held,
      ledger: await Ledger.create({ store, key: `${i}`, ...terms }),
    })),
  );
  const counted = await microseconds(async () => {
    epoch++;
    await reporter.reportMany(users);
  }, USERS);
  console.log(`| ${name} | ${noise.toFixed(0)} | ${counted.toFixed(0)} |`);
}
