/** What leaves the client beside the noise: where its randomness is from, its times, ids and order, and what goes with it. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Collection, Gateway, Ledger, MemoryStore, Reporter } from "../src/index.js";
import { toHex, wordsOf } from "../src/bytes.js";
import { randomBytes, randomWords } from "../src/words.js";
import { SURVEY, listed } from "./golden.js";

const RECORD = { bathing: "no", mobility: "some" };
/** A record's row is its code, but for one in 10^9 bits. */
const CLEAR = { ...SURVEY, mechanism: { kind: "rr-ldp", f: 2e-9 } };

/** A gateway that keeps every request, with its options. */
function gatewayOf(collection) {
  const requests = [];
  const fetch = async (url, options) => {
    requests.push({ url, ...options });
    const known = { collections: [{ name: collection.name, fingerprint: toHex(collection.fingerprint) }] };
    const reports = options.method === "POST" ? new DataView(options.body.buffer).getUint32(12, true) : 0;
    return new Response(JSON.stringify(options.method === "POST" ? { reports } : known));
  };
  const sent = () => requests.filter(({ method }) => method === "POST").map(({ body }) => body);
  return { gateway: new Gateway("http://gateway", { fetch }), requests, sent };
}

const user = (options = {}) => Ledger.create({ store: new MemoryStore(), budget: 1e6, ...options });

/** Run something while all bytes of the system's generator are kept, and every other source throws. */
async function watched(run) {
  const drawn = [];
  const system = crypto.getRandomValues.bind(crypto);
  const others = { random: Math.random, uuid: crypto.randomUUID };
  const refuse = () => {
    throw new Error("a source of randomness that is not crypto.getRandomValues");
  };
  crypto.getRandomValues = (bytes) => {
    system(bytes);
    drawn.push(toHex(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)));
    return bytes;
  };
  Math.random = crypto.randomUUID = refuse;
  try {
    await run();
  } finally {
    delete crypto.getRandomValues;
    delete crypto.randomUUID;
    Math.random = others.random;
  }
  return drawn;
}

test("all that is random is drawn by getRandomValues, and used once", async () => {
  const collection = await Collection.of(SURVEY);
  const { gateway, sent } = gatewayOf(collection);
  const ledger = await user();
  const reporter = new Reporter({ gateway, collection });
  const drawn = await watched(() => reporter.report(RECORD, ledger));
  const [batch] = sent();
  const id = toHex(batch.subarray(32, 48));
  assert.ok(drawn.includes(id), "the batch id is one draw of the system's");
  // The noise is what the words that were drawn for it make.
  const words = drawn.filter((each) => each !== id).join("");
  const given = new Uint8Array(words.match(/../g).map((pair) => parseInt(pair, 16)));
  const source = listed(wordsOf(given));
  const row = collection.row(collection.encode(RECORD), { secret: ledger.secret, words: source, timeMs: 0 });
  assert.equal(toHex(batch.subarray(56)), toHex(row));
  assert.ok(source.left < 16, "no more is drawn than a source holds");
});

test("secrets, fresh noise, pseudonyms and order are drawn by getRandomValues as well", async () => {
  const collection = await Collection.of({ ...SURVEY, linked: 604_800_000 });
  const { gateway, sent } = gatewayOf(collection);
  const ledgers = [];
  const drawn = await watched(async () => {
    for (let i = 0; i < 3; i++) ledgers.push(await user({ fresh: true }));
    await new Reporter({ gateway, collection }).reportMany(ledgers.map((ledger) => ({ record: RECORD, ledger })));
  });
  const bytes = drawn.join("|");
  for (const { secret } of ledgers) assert.ok(bytes.includes(toHex(secret)));
  const [batch] = sent();
  for (let row = 0; row < 3; row++) {
    const name = toHex(batch.subarray(56 + 9 * row, 64 + 9 * row));
    assert.ok(bytes.includes(name), "a pseudonym of a report with fresh noise is drawn by the system");
  }
});

test("a million bytes are all random", () => {
  const bytes = randomBytes(1_000_000);
  for (let at = 0; at < bytes.length; at += 10_000) {
    // Of 10,000 bytes, fewer than 250 different ones come with a chance below 10^-60.
    assert.ok(new Set(bytes.subarray(at, at + 10_000)).size >= 250, `bytes from ${at} on`);
  }
  const words = randomWords(200_000);
  assert.ok(words.slice(-1000).some((word) => word > 0));
  const high = words.filter((word) => word >= 2 ** 31).length;
  assert.ok(Math.abs(high - 100_000) < 1_500, "beyond 6.7 standard deviations");
});

test("an event time is on its step, whatever the clock says", async () => {
  for (const [window, step] of [
    [{ size: 60_000 }, 6_000],
    [{ size: 60_000, time_precision: 2_500 }, 2_500],
  ]) {
    const collection = await Collection.of({ ...SURVEY, window });
    const { gateway, sent } = gatewayOf(collection);
    const ledger = await user();
    for (const late of [0, 1, 2_499, 5_999, 6_001, 59_999]) {
      const now = 1_760_000_040_000 + late;
      await new Reporter({ gateway, collection, clock: () => now }).report(RECORD, ledger);
      const time = Number(new DataView(sent().at(-1).buffer).getBigInt64(48, true));
      assert.equal(time, now - ((now % 60_000) % step));
    }
  }
});

test("ids of batches made at one time have nothing in common", async () => {
  const collection = await Collection.of(SURVEY);
  const { gateway, sent } = gatewayOf(collection);
  const ledger = await user();
  for (let i = 0; i < 32; i++) await new Reporter({ gateway, collection, clock: () => 1.76e12 }).report(RECORD, ledger);
  const ids = sent().map((batch) => toHex(batch.subarray(32, 48)));
  for (let at = 0; at < 32; at += 8) {
    assert.equal(new Set(ids.map((id) => id.slice(at, at + 8))).size, 32, "two are alike once in 8 million runs");
  }
});

test("rows of a batch are not in the order of the users", async () => {
  const collection = await Collection.of(CLEAR);
  const { gateway, sent } = gatewayOf(collection);
  const users = [];
  for (let i = 0; i < 60; i++) {
    users.push({ record: { bathing: i < 30 ? "no" : "yes", mobility: "none" }, ledger: await user() });
  }
  await new Reporter({ gateway, collection }).reportMany(users);
  const rows = [...sent()[0].subarray(56)];
  const sorted = [...rows].sort((a, b) => a - b);
  assert.notDeepEqual(rows, sorted, "alike once in 10^17 runs");
  assert.notDeepEqual(rows, sorted.reverse());
  const first = rows.slice(0, 30).filter((row) => row === rows[0]).length;
  assert.ok(first > 3 && first < 27, "beyond once in a million runs");
});

test("neither cookies, the page's address nor anything of the user goes with a request", async () => {
  const collection = await Collection.of(SURVEY);
  const { gateway, requests } = gatewayOf(collection);
  await new Reporter({ gateway, collection }).report(RECORD, await user());
  assert.deepEqual(
    requests.map(({ method }) => method),
    ["GET", "POST"],
  );
  for (const { method, url, headers, credentials, referrerPolicy, cache } of requests) {
    assert.deepEqual([credentials, referrerPolicy, cache], ["omit", "no-referrer", "no-store"]);
    assert.deepEqual(Object.keys(headers), method === "POST" ? ["Content-Type"] : []);
    assert.match(url, /^http:\/\/gateway\/v1\/collections(\/care-survey\/batches)?$/);
  }
});

test("a changed value is refused where p and q of the file have changed, too", async () => {
  const one = await Collection.of(SURVEY);
  const other = await Collection.of({ ...SURVEY, mechanism: { kind: "rr-ldp", f: 0.25, p: 0.3, q: 0.7 } });
  const ledger = await user();
  await ledger.spend(one, one.encode(RECORD));
  const spent = await ledger.spent();
  const changed = other.encode({ ...RECORD, mobility: "full" });
  await assert.rejects(ledger.spend(other, changed), { name: "TooManyValues" });
  assert.equal(await ledger.spent(), spent);
  await ledger.spend(other, other.encode(RECORD));
});
