/** Every step from a record to a batch gives the bytes of the golden vectors. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { crc32, encodeBatch, shuffled } from "../src/batch.js";
import { blake2b } from "../src/blake2b.js";
import { fromHex, toHex } from "../src/bytes.js";
import { Collection } from "../src/collection.js";
import { BY_NAME, K_RR, L_2, SURVEY, bits, golden } from "./golden.js";

test("BLAKE2b gives the digest of RFC 7693, appendix A", () => {
  const digest = blake2b(new TextEncoder().encode("abc"), { length: 64 });
  assert.equal(toHex(digest).slice(0, 32), "ba80a53f981c4d0d6a2797b69f12f6e9");
});

test("CRC-32 is the one of zlib", () => {
  assert.equal(crc32(new TextEncoder().encode("123456789")), 0xcbf43926);
});

test("fingerprints are those of the golden vectors", async () => {
  for (const each of golden("fingerprint")) {
    const collection = await Collection.of(BY_NAME[each.collection]);
    assert.equal(JSON.stringify(collection.meaning), each.canonical);
    assert.equal(toHex(collection.fingerprint), each.fingerprint);
  }
});

test("permanent words and responses are those of the golden vectors", async () => {
  const vectors = golden("permanent_response");
  assert.ok(vectors.length > 1);
  for (const each of vectors) {
    const collection = await Collection.of(BY_NAME[each.collection]);
    const values = collection.encode(each.record);
    assert.deepEqual(values, each.values);
    const words = collection.permanentWords(fromHex(each.secret), values);
    assert.deepEqual(words.flat(), each.words);
    assert.deepEqual(collection.mechanism.permanent(values, words), bits(each.bits));
  }
});

test("instantaneous responses and rows are those of the golden vectors", async () => {
  for (const each of golden("instantaneous_response")) {
    const { mechanism } = await Collection.of(BY_NAME[each.collection]);
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
    assert.deepEqual(collection.mechanism.sent(values, words), each.sent);
    assert.equal(toHex(collection.mechanism.row(values, words)), each.row);
  }
});

test("batches are those of the golden vectors", async () => {
  let compared = 0;
  for (const each of golden("batches")) {
    const { fingerprint } = await Collection.of(BY_NAME[each.collection]);
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
  assert.equal(JSON.stringify(collection.meaning), each.canonical);
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
  assert.deepEqual([...found].sort((a, b) => a - b), rows);
});

test("collections of other kinds are refused, and the message says which are spoken", async () => {
  for (const kind of ["gfim", "sampled", "strings", "places"]) {
    const document = { collection: "other", mechanism: { kind }, window: { size: 60_000 } };
    await assert.rejects(Collection.of(document), /records, with the mechanisms rr-ldp and k-rr; .*"/);
  }
});

test("a collection that links reports is refused, and not reported to without pseudonyms", async () => {
  await assert.rejects(Collection.of({ ...SURVEY, linked: 604_800_000 }), /links the reports of a user by pseudonyms/);
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
  assert.throws(() => collection.encode({ age: 66, size: 2 }), /none of its bins/);
  assert.throws(() => collection.encode({ age: 1, size: null }), /no value/);
});

test("k-rr with fresh noise in every report is refused, and not sent without it", async () => {
  const fresh = { ...K_RR, mechanism: { kind: "k-rr", epsilon: 2, per_report: 1 } };
  await assert.rejects(Collection.of(fresh), /does not speak k-rr with per_report/);
});
