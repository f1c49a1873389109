/** Every step from a record to a batch gives the bytes of the golden vectors. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { crc32, encodeBatch, shuffled } from "../src/batch.js";
import { blake2b } from "../src/blake2b.js";
import { fromHex, joined, toHex } from "../src/bytes.js";
import { sha256 } from "../src/sha256.js";
import { Collection } from "../src/collection.js";
import { K_RR, L_2, SURVEY, bits, fileOf, golden, listed } from "./golden.js";

test("BLAKE2b gives the digest of RFC 7693, appendix A", () => {
  const digest = blake2b(new TextEncoder().encode("abc"), { length: 64 });
  assert.equal(toHex(digest).slice(0, 32), "ba80a53f981c4d0d6a2797b69f12f6e9");
});

test("digests of every length of data are those of OpenSSL", () => {
  for (const length of [0, 1, 55, 56, 63, 64, 65, 119, 120, 127, 128, 129, 255, 256, 257, 1000]) {
    const data = Uint8Array.from({ length }, (_, i) => (i * 7 + length) & 255);
    assert.equal(toHex(sha256(data)), createHash("sha256").update(data).digest("hex"));
    assert.equal(toHex(blake2b(data, { length: 64 })), createHash("blake2b512").update(data).digest("hex"));
  }
});

test("digests with a key are those of RFC 7693, whatever key, person and length came before", () => {
  const hash = (key, text, length, person) =>
    toHex(blake2b(new TextEncoder().encode(text), { key: fromHex(key), length, person }));
  // Computed by hashlib of Python.
  const known = [
    [
      "0101010101010101010101010101010101010101010101010101010101010101",
      "abc",
      32,
      "stream-ldp ans 1",
      "d126de86902f913f910cdb2556dc6b087545e9e11bea3b4fb505b527614c096f",
    ],
    [
      "0202020202020202020202020202020202020202020202020202020202020202",
      "abc",
      32,
      "stream-ldp ans 1",
      "08cd2b450d3810ae17bfb7c2a8ece2a57f969107c505fdc596790beab960d97f",
    ],
    [
      "0101010101010101010101010101010101010101010101010101010101010101",
      "abc",
      32,
      "stream-ldp tag 1",
      "01bdc4a0e64368c4f2637d752c9daab39d43bbdaf16fd01996c872a7fb9fd302",
    ],
    [
      "0101010101010101010101010101010101010101010101010101010101010101",
      "abc",
      64,
      "stream-ldp ans 1",
      "704e93aef0a85f23d127ea9a8c6bb914286e8753c5868b38bd2bedf47b9109fc0a6007009f5148c85f353673353d74278828424947782226841ce6990079341a",
    ],
    [
      "01",
      "x".repeat(300),
      64,
      "stream-ldp ans 1",
      "a0a6d220ad2140962dc83fdc77638280c1056e115fe7d1eb760016ffb0f1c78d1adb14722cf93d9bff3affd2984163c72007c7b6a10b4fb2af14004956e15ee2",
    ],
    ["0101010101010101010101010101010101010101010101010101010101010101", "", 8, "stream-ldp ans 1", "a98d1fb6ca511419"],
    [
      "0101010101010101010101010101010101010101010101010101010101010101",
      "abc",
      32,
      "stream-ldp ans 1",
      "d126de86902f913f910cdb2556dc6b087545e9e11bea3b4fb505b527614c096f",
    ],
  ];
  for (const [key, text, length, person, digest] of known) assert.equal(hash(key, text, length, person), digest);
});

test("CRC-32 is the one of zlib", () => {
  assert.equal(crc32(new TextEncoder().encode("123456789")), 0xcbf43926);
});

test("fingerprints are those of the golden vectors", async () => {
  for (const each of golden("fingerprint")) {
    const collection = await Collection.of(fileOf(each.collection));
    assert.equal(collection.meaning, each.canonical);
    assert.equal(toHex(collection.fingerprint), each.fingerprint);
  }
});

test("permanent words and responses are those of the golden vectors", async () => {
  const vectors = golden("permanent_response");
  assert.ok(vectors.length > 1);
  for (const each of vectors) {
    const collection = await Collection.of(fileOf(each.collection));
    const values = collection.encode(each.record);
    assert.deepEqual(values, each.values);
    const words = collection.permanentWords(fromHex(each.secret), values);
    assert.deepEqual(words.flat(), each.words);
    assert.deepEqual(collection.mechanism.permanent(values, words), bits(each.bits));
  }
});

test("instantaneous responses and rows are those of the golden vectors", async () => {
  for (const each of golden("instantaneous_response")) {
    const { mechanism } = await Collection.of(fileOf(each.collection));
    const report = mechanism.instantaneous(bits(each.permanent), each.words);
    assert.deepEqual(report, bits(each.report));
    assert.equal(toHex(mechanism.pack(report)), each.row);
  }
});

test("k-RR makes the reports of the golden vectors", async () => {
  const known = golden("k_rr");
  const collection = await Collection.of(K_RR);
  assert.deepEqual(collection.mechanism.runs, known.runs);
  assert.deepEqual(collection.mechanism.kept, known.kept);
  assert.equal(toHex(collection.fingerprint), known.fingerprint);
  for (const each of known.reports) {
    const values = collection.encode(each.record);
    const words = collection.permanentWords(fromHex(known.secret), values);
    assert.deepEqual(words.flat(), each.words);
    assert.deepEqual(collection.mechanism.permanent(values, words), each.sent);
    const secret = fromHex(known.secret);
    assert.equal(toHex(collection.row(values, { secret, words: listed([]), timeMs: 0 })), each.row);
  }
});

test("batches are those of the golden vectors", async () => {
  let compared = 0;
  for (const each of golden("batches")) {
    const { fingerprint } = await Collection.of(fileOf(each.collection));
    const rows = each.rows.map(fromHex);
    const made = encodeBatch({ fingerprint, batchId: fromHex(each.batch_id), timeMs: each.time_ms, rows });
    assert.equal(toHex(made), each.encoded);
    compared += 1;
  }
  assert.ok(compared >= 3);
});

test("a sample of the users is asked as in the golden vectors", async () => {
  const [each] = golden("samples");
  const collection = await Collection.of({ ...SURVEY, sample: each.sample });
  assert.equal(collection.meaning, each.canonical);
  for (const { number, word, asks } of each.asked) {
    assert.equal(collection.askingWord(fromHex(each.secret), number), word);
    assert.equal(collection.asks(fromHex(each.secret), number * 60_000 + 59_999), asks);
  }
});

test("event times are rounded down within their pane", async () => {
  const survey = await Collection.of(SURVEY);
  assert.equal(survey.rounded(1_760_000_000_000), 1_759_999_998_000);
  assert.equal(survey.rounded(-1), -6_000);
});

test("a shuffle keeps the rows and changes their order", () => {
  const rows = Array.from({ length: 100 }, (_, i) => i);
  const found = shuffled(rows);
  assert.notDeepEqual(found, rows); // with probability 1 - 1/100!
  assert.deepEqual(
    [...found].sort((a, b) => a - b),
    rows,
  );
});

test("collections of no known kind are refused, and the message says which are spoken", async () => {
  for (const kind of ["gfimm", "constructor", undefined]) {
    const document = { collection: "other", mechanism: { kind }, window: { size: 60_000 } };
    await assert.rejects(Collection.of(document), {
      name: "CollectionError",
      message: /one of rr-ldp, k-rr, .*places/,
    });
  }
});

test("linked reports have the fingerprint and pseudonyms of the golden vectors", async () => {
  const known = golden("linked");
  const collection = await Collection.of({ ...SURVEY, linked: known.linked });
  assert.equal(collection.meaning, known.canonical);
  assert.equal(toHex(collection.fingerprint), known.fingerprint);
  for (const { period, pseudonym } of known.pseudonyms) {
    for (const timeMs of [period * known.linked, (period + 1) * known.linked - 1]) {
      assert.equal(toHex(collection.pseudonym(fromHex(known.secret), timeMs)), pseudonym);
    }
  }
  const { report, batch_id: batchId, time_ms: timeMs, bytes } = known.batch;
  const name = collection.pseudonym(fromHex(known.secret), timeMs);
  const rows = [joined(name, collection.mechanism.pack(bits(report)))];
  const { fingerprint } = collection;
  assert.equal(toHex(encodeBatch({ fingerprint, batchId: fromHex(batchId), timeMs, rows })), bytes);
});

test("a document that is wrong is refused, whatever is in it", async () => {
  const [first, second] = SURVEY.attributes;
  const attribute = (changed) => ({ ...SURVEY, attributes: [{ ...first, ...changed }, second] });
  const mechanism = (changed) => ({ ...SURVEY, mechanism: { ...SURVEY.mechanism, ...changed } });
  const wrong = [
    undefined,
    null,
    1,
    "x",
    [],
    {},
    { ...SURVEY, collection: 3 },
    { ...SURVEY, collection: "a\n" },
    { ...SURVEY, mechanism: { kind: "constructor" } },
    { ...SURVEY, mechanism: { kind: "__proto__" } },
    { ...SURVEY, mechanism: { kind: ["rr-ldp"] } },
    mechanism({ f: "0.25" }),
    mechanism({ f: NaN }),
    mechanism({ p: 0.75, q: 0.25 }),
    mechanism({ q: null }),
    mechanism({ f: 1 }),
    { ...SURVEY, attributes: {} },
    { ...SURVEY, attributes: [] },
    { ...SURVEY, attributes: [null] },
    { ...SURVEY, attributes: [first, first] },
    attribute({ name: "" }),
    attribute({ name: "\ud800" }),
    attribute({ values: "no" }),
    attribute({ values: { length: 2 } }),
    attribute({ values: ["no", "no"] }),
    attribute({ values: ["no", 1] }),
    attribute({ values: ["no"] }),
    attribute({ missing: 3 }),
    attribute({ other: "" }),
    attribute({ clip: 1 }),
    attribute({ bins: [0, 1] }),
    attribute({ bins: [0, 2, 1] }),
    attribute({ bins: [0, "constructor", 1] }),
    attribute({ values: Array.from({ length: 2 ** 19 }, (_, i) => String(i)) }),
    { ...SURVEY, window: null },
    { ...SURVEY, window: { size: 1.5 } },
    { ...SURVEY, window: { size: 2 ** 60 } },
    { ...SURVEY, window: { size: 60_000, time_precision: 0 } },
    { ...SURVEY, window: { size: 9, time_precision: 10 } },
    { ...SURVEY, sample: 0 },
    { ...SURVEY, sample: "1" },
    { ...SURVEY, sample: NaN },
    { ...SURVEY, linked: 60_001 },
    { ...SURVEY, linked: 0 },
    { ...K_RR, linked: 60_000 },
  ];
  for (const document of wrong) {
    await assert.rejects(Collection.of(document), { name: "CollectionError" }, JSON.stringify(document)?.slice(0, 200));
  }
  const names = JSON.parse('[{"name": "__proto__", "values": ["constructor", "toString"]}]');
  const odd = await Collection.of({ ...SURVEY, attributes: names });
  assert.deepEqual(odd.encode(JSON.parse('{"__proto__": "toString"}')), [1]);
  assert.throws(() => odd.encode({}), { name: "DataError" });
  assert.equal({}.values, undefined);
});

test("what is left out may be null", async () => {
  const attributes = SURVEY.attributes.map((each) => ({ ...each, bins: null, missing: null }));
  const absent = { ...SURVEY, attributes, sample: null, linked: null };
  const window = { size: 60_000, hop: null, time_precision: null };
  const [one, other] = [await Collection.of({ ...absent, window }), await Collection.of(SURVEY)];
  assert.equal(toHex(one.fingerprint), toHex(other.fingerprint));
  assert.throws(() => one.encode({ bathing: null, mobility: "some" }), /the value is missing/);
});

test("a record that does not fit is refused without its value", async () => {
  const survey = await Collection.of(SURVEY);
  assert.throws(() => survey.encode({ bathing: "no" }), /"mobility" is missing/);
  assert.throws(() => survey.encode({ bathing: "no", mobility: "some", age: 3 }), /"age" is not an attribute/);
  assert.throws(
    () => survey.encode({ bathing: "no", mobility: "sEcret" }),
    (error) => error.name === "DataError" && !error.message.includes("sEcret"),
  );
});

test("numbers go to their bins, and what is missing to its value", async () => {
  const age = { name: "age", values: ["[0,18)", "[18,65.5]", "unknown"], bins: [0, 18, 65.5], missing: "unknown" };
  const open = { name: "size", values: ["[-inf,2)", "[2,inf)"], bins: ["-inf", 2, "inf"] };
  const collection = await Collection.of({ ...L_2, attributes: [age, open] });
  assert.deepEqual(collection.encode({ age: 18, size: -5 }), [1, 0]);
  assert.deepEqual(collection.encode({ age: 65.5, size: 1e9 }), [1, 1]);
  assert.deepEqual(collection.encode({ age: null, size: 2 }), [2, 1]);
  assert.throws(() => collection.encode({ age: 1, size: null }), /the value is missing/);
});

test("numbers beyond the bins go to the nearest, and whatever else to the other value", async () => {
  const age = { name: "age", values: ["[0,18)", "[18,65.5]", "others"], bins: [0, 18, 65.5], other: "others" };
  const strict = { name: "height", values: ["[0,1)", "[1,3]"], bins: [0, 1, 3], clip: false };
  const collection = await Collection.of({ ...L_2, attributes: [age, strict] });
  assert.deepEqual(collection.encode({ age: 66, height: 3 }), [1, 1]);
  assert.deepEqual(collection.encode({ age: -Infinity, height: "1.5" }), [0, 1]);
  assert.deepEqual(collection.encode({ age: "41", height: 0 }), [1, 0]);
  assert.deepEqual(collection.encode({ age: "old", height: 0 }), [2, 0]);
  assert.throws(() => collection.encode({ age: 1, height: 4 }), /is not from 0 to 3/);
});

test("k-RR perturbs what is named again as in the golden vectors", async () => {
  const known = golden("k_rr_fresh");
  const { epsilon, per_report } = known;
  const collection = await Collection.of({ ...K_RR, mechanism: { kind: "k-rr", epsilon, per_report } });
  const { mechanism } = collection;
  assert.deepEqual([mechanism.kept, mechanism.fresh], [known.kept, known.fresh]);
  assert.equal(toHex(collection.fingerprint), known.fingerprint);
  for (const each of known.reports) {
    const values = collection.encode(each.record);
    const words = collection.permanentWords(fromHex(known.secret), values);
    assert.deepEqual(words.flat(), each.words);
    assert.deepEqual(mechanism.permanent(values, words), each.named);
    const draw = { secret: fromHex(known.secret), words: listed(each.fresh_words), timeMs: 0 };
    assert.equal(toHex(collection.row(values, draw)), each.row);
  }
  known.losses.reports.forEach((times, i) => {
    for (const [j, name] of ["bathing", "mobility"].entries()) {
      const found = mechanism.cost(j, times);
      assert.ok(found >= known.losses[name][i] && found < known.losses[name][i] + 1e-9);
    }
  });
});

test("k-RR without noise that a report could have is refused", async () => {
  for (const wrong of [
    { per_report: 2 },
    { per_report: 3 },
    { per_report: 0 },
    { per_report: NaN },
    { per_report: "1" },
  ]) {
    await assert.rejects(Collection.of({ ...K_RR, mechanism: { ...K_RR.mechanism, ...wrong } }), /per_report/);
  }
  for (const epsilon of [0, -1, NaN, Infinity, "2", 100, 1e300, 1e-12]) {
    await assert.rejects(Collection.of({ ...K_RR, mechanism: { kind: "k-rr", epsilon } }), /epsilon/);
  }
});
