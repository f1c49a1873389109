/** Collections of every kind give the bytes of the golden vectors, from the file to the batch. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { encodeBatch } from "../src/batch.js";
import { fromHex, packed, toHex } from "../src/bytes.js";
import { Collection } from "../src/index.js";
import { RESPONSES } from "../src/kinds/sets.js";
import { signsOf } from "../src/randomizers.js";
import { threshold } from "../src/words.js";
import { fileOf, golden, listed } from "./golden.js";

const NONE = listed([]);

function assertBatch({ batch_id, time_ms, rows, ...vector }, fingerprint) {
  const made = encodeBatch({
    fingerprint,
    batchId: fromHex(batch_id),
    timeMs: time_ms,
    rows: rows.map(fromHex),
  });
  assert.equal(toHex(made), vector.bytes ?? vector.encoded);
}

for (const name of ["sampled", "views", "strings", "places", "pairs"]) {
  test(`reports of ${name} are those of the golden vectors`, async () => {
    const vectors = golden(name);
    assert.ok(vectors.length > 3);
    for (const each of vectors) {
      const collection = await Collection.of(each.file, { meaning: each.meaning });
      assert.equal(toHex(collection.fingerprint), each.fingerprint);
      const secrets = each.secrets.map(fromHex);
      // Where reports have noise of their own, this word sends what is repeated as it is.
      const quiet = { next: () => threshold(each.file.mechanism.p ?? 0) };
      each.records.forEach((record, place) => {
        const held = collection.encode(record);
        const words = each.fresh?.length ? quiet : NONE;
        const rows = secrets.map((secret) => toHex(collection.row(held, { secret, words, timeMs: 0 })));
        assert.deepEqual(rows, each.rows[place]);
      });
      for (const { record, secret, words, row } of each.fresh ?? []) {
        const source = listed(words);
        const held = collection.encode(each.records[record]);
        assert.equal(toHex(collection.row(held, { secret: secrets[secret], words: source, timeMs: 0 })), row);
      }
      assertBatch(each.batch, collection.fingerprint);
    }
  });
}

test("reports of records with every option are those of the golden vectors", async () => {
  const vectors = golden("record_reports");
  for (const each of vectors) {
    const collection = await Collection.of(each.file);
    assert.equal(collection.meaning, each.meaning);
    assert.equal(toHex(collection.fingerprint), each.fingerprint);
    const secret = fromHex(each.secret);
    const { record, time_ms: timeMs } = each;
    assert.equal(collection.asked({ secret, timeMs }).length === 1, each.asked);
    if (!each.asked) continue;
    const words = listed(each.fresh_words ?? []);
    assert.equal(toHex(collection.row(collection.encode(record), { secret, words, timeMs })), each.row);
    assert.equal(words.left, 0);
    assert.equal(collection.rounded(timeMs), each.batch.time_ms);
    assertBatch(each.batch, collection.fingerprint);
  }
  assert.ok(vectors.some((each) => each.file.linked) && vectors.some((each) => !each.asked));
});

test("fingerprints of item sets and of rounds are those of the golden vectors", async () => {
  for (const each of golden("item_fingerprints")) {
    const collection = await Collection.of(fileOf(each.collection));
    assert.equal(collection.meaning, each.canonical);
    assert.equal(toHex(collection.fingerprint), each.fingerprint);
  }
  let own = 0;
  for (const each of golden("rounds")) {
    const round = JSON.parse(each.round);
    const collection = await Collection.of(fileOf(round.collection));
    const isAscending = round.candidates.every((item, i) => i === 0 || round.candidates[i - 1] < item);
    assert.equal(collection.isOwn(round), isAscending);
    if (!isAscending) continue;
    own++;
    const secret = new Uint8Array(32);
    // A secret that is asked: of 64, none is with a chance below 1e-9.
    const asking = Array.from({ length: 64 }, (_, i) => secret.with(0, i)).find((one) => collection.asks(one, round));
    const asked = collection.asked({ secret: asking, timeMs: round.start_ms, rounds: [round] });
    const found = asked.find(({ phase }) => phase === round.phase);
    assert.equal(toHex(found.fingerprint), each.fingerprint);
  }
  assert.ok(own > 0);
});

test("words that decide who is asked in an epoch are those of the golden vectors", async () => {
  const films = await Collection.of(fileOf("films"));
  const own = golden("group_words").filter(({ fingerprint }) => fingerprint === toHex(films.fingerprint));
  assert.ok(own.length > 1);
  for (const { secret, epoch, word } of own) assert.equal(films.word(fromHex(secret), epoch), word);
});

/** Return words that make the draws of a vector, in the order in which a report takes them. */
function wordsOf({ draws, response, hashes, value, sets }) {
  const { kind, kept, values, dummies, t } = response;
  const words = draws.slot === undefined || draws.slot === null ? [] : [draws.slot];
  const direct = (own, choices) => (draws.sent === own ? [0] : [kept, (draws.sent - own - 1 + choices) % choices]);
  if (kind === "direct") return [...words, ...direct(value, values + dummies)];
  if (kind === "unary")
    return [...words, ...Array.from(draws.sent, (bit, i) => (Number(bit) === Number(i === value) ? 0 : kept))];
  words.push(...draws.rows);
  if (kind === "hadamard") {
    const dummy = draws.hash ?? undefined;
    const own = dummy ?? signsOf(draws.rows, value);
    return [...words, ...(dummy === undefined ? [] : [dummy]), ...direct(own, 2 ** t)];
  }
  const distinct = [...new Set(sets.map((each) => signsOf(draws.rows, each)))];
  assert.deepEqual([...distinct].sort(), [...new Set(hashes)].sort());
  const place = distinct.indexOf(draws.sent);
  if (place !== -1) return [...words, 0, place];
  const below = distinct.filter((each) => each < draws.sent).length;
  return [...words, distinct.length * kept, draws.sent - below];
}

test("reports of item sets of every kind are those of the golden vectors", async () => {
  const kinds = new Set();
  for (const each of golden("item_reports")) {
    const collection = await Collection.of(each.file);
    assert.equal(collection.meaning, each.meaning);
    assert.equal(toHex(collection.fingerprint), each.fingerprint);
    const secret = fromHex(each.secret);
    const items = collection.encode(each.items);
    assert.equal(collection.word(secret, each.epoch), each.word);
    const asked = collection.asked({ secret, timeMs: each.time_ms, rounds: each.round ? [each.round] : [] });
    const round = asked.find(({ epoch, phase }) => epoch === each.epoch && phase === each.phase);
    assert.equal(round !== undefined, each.asked);
    if (!each.asked) continue;
    assert.equal(toHex(round.fingerprint), each.carried);
    assert.equal(collection.rounded(each.time_ms), each.batch.time_ms);
    assertBatch(each.batch, round.fingerprint);
    kinds.add(each.response.kind);
    if (each.response.kind === "loloha") {
      assert.equal(
        toHex(round.row(items, { secret, words: listed(each.fresh_words), timeMs: each.time_ms })),
        each.row,
      );
      continue;
    }
    assert.deepEqual(round.restricted(items), each.restricted);
    const { kind, values, dummies, t, kept } = each.response;
    const { size, dummies: own, t: bits, kept: ours } = round.parameters;
    assert.deepEqual([round.kind, size, own, bits, ours], [kind, values, dummies, t, kept]);
    const words = listed(wordsOf({ ...each, sets: each.restricted }));
    assert.equal(toHex(round.row(items, { secret, words, timeMs: each.time_ms })), each.row);
    assert.equal(words.left, 0);
  }
  assert.deepEqual([...kinds].sort(), ["direct", "hadamard", "loloha", "set-hadamard", "unary"]);
});

test("what a secret determines of memoised sets is that of the golden vectors", async () => {
  const known = golden("loloha");
  const collection = await Collection.of(fileOf(known.collection));
  assert.equal(collection.meaning, known.canonical);
  assert.deepEqual(collection.chances, known.chances);
  const first = collection.first(0);
  for (const { secret, items, sign, row, permanent, reports } of known.responses) {
    const key = fromHex(secret);
    const held = items;
    const found = collection.rowAndSign((purpose) => collection.purpose(key, purpose), held);
    assert.deepEqual(found, [row, sign]);
    assert.equal(toHex(first.row(held, { secret: key, words: listed([0]) })), permanent);
    for (const each of reports) {
      assert.equal(toHex(first.row(held, { secret: key, words: listed(each.words) })), each.row);
    }
  }
});

test("responses to sets are those of the golden vectors", () => {
  for (const each of golden("responses")) {
    const { size, epsilon, hash_bits: t = 0, slots = 1, dummies = 0 } = each.parameters;
    const name = each.kind;
    const { kept, widths } = RESPONSES[name];
    const made = { epsilon, size, t, slots, dummies };
    // The epsilon of a vector of `direct` is that of all its choices, ln E.
    assert.equal(kept(name === "direct" ? { epsilon, size: size + dummies, dummies: 0 } : made), each.kept, name);
    if (each.hashes) {
      const hashes = each.values.map((value) => signsOf(each.rows, value));
      assert.deepEqual(hashes.sort(), each.hashes.toSorted());
    }
    const sent = typeof each.said === "string" ? Array.from(each.said, Number) : [...(each.rows ?? []), each.said];
    assert.equal(toHex(packed(sent, widths(made), Math.ceil(each.bits / 8))), each.row, name);
  }
});

test("turns of every kind are those of the golden vectors", async () => {
  const vectors = golden("turns");
  assert.ok(vectors.length > 10);
  for (const { collection: name, file, epochs, rotate, ...each } of vectors) {
    const document = { ...(file ?? fileOf(name)), rotate, ...(epochs === undefined ? {} : { epochs }) };
    const collection = await Collection.of(document, { meaning: each.meaning });
    assert.equal(collection.meaning, each.meaning);
    assert.equal(toHex(collection.fingerprint), each.fingerprint);
    assert.equal(collection.turnMs, each.turn_ms);
    const secret = fromHex(each.secret);
    for (const { number, asks } of each.asked) {
      assert.equal(collection.hasTurn(secret, number), asks);
      const timeMs = (number + 1) * each.turn_ms - 1;
      if (!collection.hasRounds) assert.equal(collection.asked({ secret, timeMs }).length === 1, asks);
    }
  }
});

test("item sets whose reports would have no noise, or other options than there are, are refused", async () => {
  const films = (changes) => fileOf("films", { mechanism: { kind: "gfim", epsilon: 4, set_size: 3, ...changes } });
  for (const wrong of [
    { epsilon: 60 },
    { epsilon: 1e300 },
    { epsilon: -1 },
    { hash_bits: 9 },
    { split: [1, 0] },
    { set_size: 0 },
  ]) {
    await assert.rejects(Collection.of(films(wrong)), { name: "CollectionError" }, JSON.stringify(wrong));
  }
  const memoised = (changes) => fileOf("films", { mechanism: { kind: "loloha", epsilon: 1, ...changes } });
  for (const wrong of [{ lifetime: 1 }, { lifetime: 23 }, { epsilon: 30 }]) {
    await assert.rejects(Collection.of(memoised(wrong)), { name: "CollectionError" }, JSON.stringify(wrong));
  }
  assert.equal((await Collection.of(films({ kind: "ldpminer", epsilon: 40 }))).phases[0].epsilon, 20);
});
