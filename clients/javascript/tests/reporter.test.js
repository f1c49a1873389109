/** What a user spends, what is refused, and what the gateway's reasons become. */

import assert from "node:assert/strict";
import { createServer } from "node:net";
import { test } from "node:test";

import { Collection, Gateway, Ledger, MemoryStore, ParameterError, Reporter } from "../src/index.js";
import { toHex } from "../src/bytes.js";
import { K_RR, SURVEY, fileOf } from "./golden.js";

const RECORD = { bathing: "no", mobility: "some" };
const survey = await Collection.of(SURVEY);
const krr = await Collection.of(K_RR);

/** A gateway whose answers to batches are given, one after another; the last one stays. */
function gatewayOf({ collection = survey, answers = [[200, { reports: 1 }]], headers = {}, ...times } = {}) {
  const sent = [];
  const pauses = [];
  const json = (status, body) => new Response(JSON.stringify(body), { status, headers });
  const fetch = async (url, { method, body }) => {
    if (method === "GET") {
      return json(200, { collections: [{ name: collection.name, fingerprint: toHex(collection.fingerprint) }] });
    }
    sent.push(body);
    const answer = answers[Math.min(sent.length, answers.length) - 1];
    if (answer instanceof Error) throw answer;
    return json(...answer);
  };
  const pause = async (seconds) => void pauses.push(seconds);
  return { gateway: new Gateway("http://gateway", { fetch, pause, ...times }), sent, pauses };
}

const user = (options = {}) => Ledger.create({ store: new MemoryStore(), budget: 4, ...options });

test("reports cost what the specification says", async () => {
  const ledger = await user({ budget: 100 });
  const values = survey.encode(RECORD);
  await ledger.spend(survey, values);
  // docs/wire.md, section 15: 1.577 for each of two attributes, then 2.773.
  assert.equal(((await ledger.spent()) / 2).toFixed(3), "1.577");
  await ledger.spend(survey, values);
  assert.equal(((await ledger.spent()) / 2).toFixed(3), "2.773");
  const other = await user({ budget: 100 });
  for (let i = 0; i < 3; i++) await other.spend(krr, values);
  assert.equal(await other.spent(), 2 * K_RR.mechanism.epsilon);
});

test("a report is counted before it is sent", async () => {
  const ledger = await user();
  const { gateway } = gatewayOf();
  let spentAtSend;
  gateway.send = async () => {
    spentAtSend = await ledger.spent();
    return 1;
  };
  assert.equal(await new Reporter({ gateway, collection: survey }).report(RECORD, ledger), 1);
  assert.ok(spentAtSend > 3);
});

test("a report has a receipt, with what leaves and what is left, and no value", async () => {
  const ledger = await user({ budget: 8 });
  const { gateway } = gatewayOf();
  const receipts = [];
  const onReceipt = (place, receipt) => receipts.push([place, receipt]);
  const sent = [];
  gateway.send = async (_, batch) => sent.push(batch);
  const reporter = new Reporter({ gateway, collection: survey });
  await reporter.report(RECORD, ledger, { onReceipt });
  await reporter.report(RECORD, ledger, { onReceipt });
  const [[place, first], [, second]] = receipts;
  assert.equal(place, 0);
  assert.deepEqual(first.row, sent[0].subarray(56));
  assert.ok(first.cost === first.spent && second.spent === (await ledger.spent()));
  assert.equal(second.left, 8 - second.spent);
  assert.equal(
    String(first),
    `Sent to care-survey: 1 byte, ${Buffer.from(first.row).toString("hex")}, with noise, about bathing and mobility. ` +
      "Cost: 3.154 nats; 4.846 of 8 are left. Between two equally likely records, the best guess of yours is now " +
      "96.0 % right.",
  );
  assert.ok(!/some|full|none/.test(JSON.stringify(first)));
});

test("what the store does not keep is not sent", async () => {
  const store = new MemoryStore();
  const ledger = await user({ store });
  store.update = async () => {
    throw new Error("the disk is full");
  };
  const { gateway, sent } = gatewayOf();
  await assert.rejects(new Reporter({ gateway, collection: survey }).report(RECORD, ledger), (error) => {
    assert.deepEqual([error.name, error.cause.message], ["LedgerError", "the disk is full"]);
    return true;
  });
  assert.equal(sent.length, 0);
});

test("a report that the budget does not cover is refused, and neither sent nor charged", async () => {
  const ledger = await user({ budget: 3.2 });
  const { gateway, sent } = gatewayOf();
  const reporter = new Reporter({ gateway, collection: survey });
  await reporter.report(RECORD, ledger);
  const spent = await ledger.spent();
  await assert.rejects(reporter.report(RECORD, ledger), { name: "BudgetExceeded" });
  assert.equal(sent.length, 1);
  assert.equal(await ledger.spent(), spent);
  await ledger.agree({ budget: 100, values: 1 });
  await reporter.report(RECORD, ledger);
  assert.equal(sent.length, 2);
});

test("what costs nothing more is sent where stricter terms leave nothing", async () => {
  const ledger = await user({ budget: 100, values: 2 });
  await ledger.spend(krr, krr.encode(RECORD));
  const spent = await ledger.spent();
  await ledger.agree({ budget: spent / 2, perDay: spent / 4, perSpan: spent / 8, spanDays: 7 });
  await ledger.spend(krr, krr.encode(RECORD));
  assert.equal(await ledger.spent(), spent);
  await assert.rejects(ledger.spend(krr, krr.encode({ ...RECORD, mobility: "full" })), { name: "BudgetExceeded" });
});

test("a value that has changed is refused until the user agrees, and then costs as a value of its own", async () => {
  const ledger = await user({ budget: 100 });
  const first = krr.encode(RECORD);
  const second = krr.encode({ ...RECORD, mobility: "full" });
  await ledger.spend(krr, first);
  const spent = await ledger.spent();
  await assert.rejects(ledger.spend(krr, second), { name: "TooManyValues" });
  assert.equal(await ledger.spent(), spent);
  await ledger.agree({ budget: 100, values: 2 });
  await ledger.spend(krr, second);
  assert.equal((await ledger.spent()) - spent, K_RR.mechanism.epsilon);
});

test("a ledger is opened with its secret and its charges, and never begins anew by itself", async () => {
  const store = new MemoryStore();
  await assert.rejects(Ledger.open({ store }), { name: "LedgerLost", message: /new user/ });
  const made = await user({ store });
  assert.ok(made.isNew);
  await made.spend(survey, survey.encode(RECORD));
  const opened = await Ledger.open({ store });
  assert.deepEqual([opened.secret, opened.isNew], [made.secret, false]);
  assert.equal(await opened.spent(), await made.spent());
  await assert.rejects(user({ store }), { name: "LedgerError", message: /already/ });
  for (const damage of ["", "{}", "null", (await store.get("user")).replace('"budget":4', '"budget":"x"')]) {
    await store.update("user", () => damage);
    await assert.rejects(Ledger.open({ store }), { name: "LedgerError", message: /damaged/ });
    await assert.rejects(opened.spend(survey, survey.encode(RECORD)), { name: "LedgerError" });
  }
});

test("no value stands in a ledger", async () => {
  const store = new MemoryStore();
  const ledger = await user({ store });
  await ledger.spend(survey, survey.encode(RECORD));
  assert.doesNotMatch(await store.get("user"), /some|"no"/);
});

test("terms that make no sense are refused", async () => {
  for (const terms of [{ budget: 0 }, { budget: NaN }, { budget: undefined }, { values: 0 }, { values: 1.5 }]) {
    await assert.rejects(user(terms), { name: "LedgerError" });
  }
});

test("a day has a budget of its own, also where the clock goes back to it", async () => {
  const ledger = await user({ budget: 100, perDay: 4, fresh: true });
  const { gateway, sent } = gatewayOf();
  let timeMs = 0;
  const reporter = new Reporter({ gateway, collection: survey, clock: () => timeMs });
  const days = [];
  for (const hour of [23, 23.9, 24, 47, 20, 48]) {
    timeMs = hour * 3_600_000;
    await reporter.report(RECORD, ledger).then(
      () => days.push(hour),
      (error) => assert.equal(error.name, "DayBudgetExceeded"),
    );
  }
  assert.deepEqual(days, [23, 24, 48]);
  assert.equal(sent.length, 3);
});

test("days that follow each other have a budget whenever they begin, and a clock that was ahead renews nothing", async () => {
  const store = new MemoryStore();
  const perSpan = 4 * K_RR.mechanism.epsilon;
  const ledger = await user({ store, budget: Infinity, perSpan, spanDays: 7, fresh: true });
  const values = krr.encode(RECORD);
  const days = async (...asked) => {
    const found = [];
    for (const day of asked) {
      await ledger.spend(krr, values, { timeMs: day * 86_400_000 }).then(
        () => found.push(day),
        (error) => {
          assert.equal(error.name, "SpanBudgetExceeded");
          assert.match(error.message, /nats of privacy, and 0\.000 are left of [0-9.]+ in any 7 days: nothing was sent$/);
        },
      );
    }
    return found;
  };
  // Of the span, 1/64 is 0.11 days: a charge of day 0 counts until day 7.11.
  assert.deepEqual(await days(0, 3, 6, 7, 7.2, 9), [0, 3, 7.2]);
  assert.equal(JSON.parse(await store.get("user")).recent.length, 3);
  // A clock that was ahead: what was spent before counts when it is set right, and so does what was spent by it.
  assert.deepEqual(await days(16.9, 10.2, 14.4, 14.5), [16.9, 14.4]);
  await ledger.agree({ perSpan: Infinity, spanDays: 0 });
  assert.deepEqual(await days(14.5), [14.5]);
  assert.deepEqual(JSON.parse(await store.get("user")).recent, []);
});

test("with fresh noise a value may change, and each report costs as much as the first", async () => {
  const ledger = await user({ budget: 100, fresh: true });
  for (const [collection, mobility] of [
    [survey, "some"],
    [survey, "full"],
    [survey, "some"],
    [krr, "some"],
  ]) {
    assert.equal((await ledger.spend(collection, collection.encode({ ...RECORD, mobility }))).fresh, true);
  }
  const one = ({ mechanism }) => mechanism.cost(0, 1) + mechanism.cost(1, 1);
  assert.ok(Math.abs((await ledger.spent()) - 3 * one(survey) - one(krr)) < 1e-9);
  await ledger.agree({ fresh: false });
  assert.equal((await ledger.spend(survey, survey.encode(RECORD))).fresh, false);
  assert.ok(Math.abs((await ledger.spent()) - 4 * one(survey) - one(krr)) < 1e-9);
});

test("with fresh noise no two reports share a permanent response", async () => {
  const certain = await Collection.of({ ...SURVEY, mechanism: { kind: "rr-ldp", f: 0.9 } });
  const { gateway, sent } = gatewayOf({ collection: certain });
  const reporter = new Reporter({ gateway, collection: certain });
  const rows = async (ledger) => {
    sent.length = 0;
    for (let i = 0; i < 60; i++) await reporter.report(RECORD, ledger);
    return new Set(sent.map((batch) => batch[56])).size;
  };
  assert.equal(await rows(await user({ budget: 1e3 })), 1);
  assert.ok((await rows(await user({ budget: 1e3, fresh: true }))) > 1, "all alike with probability below 1e-50");
});

test("reports are linked only if the user agrees, by one pseudonym a period, and not with fresh noise", async () => {
  const linked = await Collection.of({ ...SURVEY, linked: 604_800_000 });
  const ledger = await user({ budget: 100 });
  const { gateway, sent } = gatewayOf({ collection: linked });
  let timeMs = 0;
  const reporter = new Reporter({ gateway, collection: linked, clock: () => timeMs });
  await assert.rejects(reporter.report(RECORD, ledger), { name: "LinkingRefused" });
  assert.equal(sent.length + (await ledger.spent()), 0);
  await ledger.agree({ linked: true });
  for (timeMs of [0, 604_799_999, 604_800_000]) await reporter.report(RECORD, ledger);
  await ledger.agree({ fresh: true });
  for (timeMs of [0, 0]) await reporter.report(RECORD, ledger);
  const names = sent.map((batch) => toHex(batch.subarray(56, 64)));
  assert.equal(names[0], toHex(linked.pseudonym(ledger.secret, 0)));
  assert.equal(names[1], names[0]);
  assert.equal(new Set(names).size, 4);
  assert.ok(sent.every((batch) => batch.length === 56 + 9));
});

test("where a second report may cost more than the first, several values cost as the worst sharing", async () => {
  const attributes = [{ name: "one", values: Array.from({ length: 64 }, (_, i) => String(i)) }];
  const mechanism = { kind: "k-rr", epsilon: 6, per_report: 1 };
  const wide = await Collection.of({ ...SURVEY, attributes, mechanism });
  const cost = (times) => wide.mechanism.cost(0, times);
  assert.ok(cost(2) > 2 * cost(1));
  const ledger = await user({ budget: 100, values: 2 });
  for (const value of [0, 1, 0, 0]) await ledger.spend(wide, [value]);
  const worst = Math.max(cost(1) + cost(3), 2 * cost(2));
  const found = await ledger.spent();
  assert.ok(found >= worst && found < worst + 1e-9);
});

test("a user who takes turns reports once in each of them, whatever the clock says", async () => {
  const turns = await Collection.of({ ...SURVEY, rotate: 3 });
  const ledger = await user({ budget: 1e3 });
  const { gateway, sent } = gatewayOf({ collection: turns });
  let window = 0;
  const reporter = new Reporter({ gateway, collection: turns, clock: () => 60_000 * window });
  const found = [];
  for (window of [0, 1, 2, 2, 3, 4, 5, 6, 7, 8, 30, 31, 32, 9, 10, 11]) {
    if ((await reporter.report(RECORD, ledger)) === 1) found.push(window);
  }
  const [first] = found;
  const last = 30 + first;
  assert.deepEqual(found, [first, first + 3, first + 6, last]);
  assert.equal(sent.length, found.length);
});

test("without the system's randomness nothing is drawn from elsewhere", async () => {
  const own = Object.getOwnPropertyDescriptor(globalThis, "crypto");
  Object.defineProperty(globalThis, "crypto", { value: undefined, configurable: true });
  try {
    await assert.rejects(user(), /crypto.getRandomValues is missing/);
  } finally {
    Object.defineProperty(globalThis, "crypto", own);
  }
});

test("reports that are made at once take turns at the budget", async () => {
  const ledger = await user({ budget: 4, fresh: true });
  const { gateway, sent } = gatewayOf();
  const reporter = new Reporter({ gateway, collection: survey });
  const found = await Promise.allSettled(Array.from({ length: 20 }, () => reporter.report(RECORD, ledger)));
  assert.equal(found.filter(({ status }) => status === "fulfilled").length, 1);
  assert.equal(sent.length, 1);
});

test("terms that are left out stay as agreed, and a misspelt one is refused", async () => {
  const ledger = await user({ budget: 5, perDay: 1, values: 2 });
  await ledger.agree({ budget: 6 });
  assert.deepEqual(await ledger.terms(), {
    budget: 6,
    perDay: 1,
    perSpan: Infinity,
    spanDays: 0,
    values: 2,
    fresh: false,
    linked: false,
  });
  await ledger.agree({ perDay: Infinity });
  assert.equal((await ledger.terms()).perDay, Infinity);
  await assert.rejects(ledger.agree({ per_day: 1 }), { name: "LedgerError", message: /"per_day" is no part/ });
  for (const wrong of [
    { perDay: 0 },
    { perDay: NaN },
    { perDay: undefined },
    { perDay: "1" },
    { perSpan: 1 },
    { spanDays: 7 },
    { perSpan: 0, spanDays: 7 },
    { perSpan: 1, spanDays: 1.5 },
    { perSpan: 1, spanDays: 3661 },
    { fresh: 1 },
    { linked: 1 },
  ]) {
    await assert.rejects(ledger.agree(wrong), { name: "LedgerError" });
  }
});

test("a clock that gives no time is an error, and nothing is spent", async () => {
  const ledger = await user();
  const reporter = new Reporter({ gateway: gatewayOf().gateway, collection: survey, clock: () => NaN });
  await assert.rejects(reporter.report(RECORD, ledger), /clock/);
  assert.equal(await ledger.spent(), 0);
});

test("the reasons of the gateway are errors, with the batch that may be sent again", async () => {
  const { gateway, sent } = gatewayOf({ answers: [[400, { reason: "future_time", detail: "ahead" }]] });
  await assert.rejects(new Reporter({ gateway, collection: survey }).report(RECORD, await user()), (error) => {
    assert.equal(error.name, "GatewayError");
    assert.deepEqual([error.reason, error.detail, error.status], ["future_time", "ahead", 400]);
    assert.equal(error.batch, sent[0]);
    return true;
  });
  assert.equal(sent.length, 1, "what is wrong with a batch does not pass");
});

test("a batch is sent again as the same bytes, when the gateway says, and is charged once", async () => {
  const answers = [new TypeError("fetch failed"), [503, { reason: "busy", detail: "..." }], [200, { reports: 1 }]];
  const { gateway, sent, pauses } = gatewayOf({ answers, headers: { "Retry-After": "7" } });
  const ledger = await user();
  assert.equal(await new Reporter({ gateway, collection: survey }).report(RECORD, ledger), 1);
  assert.deepEqual(sent[1], sent[0]);
  assert.deepEqual(sent[2], sent[0]);
  assert.deepEqual(pauses, [1, 7]);
  assert.equal(((await ledger.spent()) / 2).toFixed(3), "1.577");
});

test("a gateway that stays away is an error in the end", async () => {
  const { gateway, sent, pauses } = gatewayOf({ answers: [new TypeError("fetch failed")] });
  const found = new Reporter({ gateway, collection: survey }).report(RECORD, await user());
  await assert.rejects(found, { reason: "unreachable" });
  // 1, 2, 4, 8 and 16 s, and then 30 s at most: the next pause would end after the patience of 120 s.
  assert.deepEqual(pauses, [1, 2, 4, 8, 16, 30, 30]);
  assert.equal(sent.length, pauses.length + 1);
});

test("nothing is spent for a collection that the gateway has otherwise", async () => {
  const { gateway, sent } = gatewayOf({ collection: krr });
  const ledger = await user();
  const found = new Reporter({ gateway, collection: survey }).report(RECORD, ledger);
  await assert.rejects(found, { name: "CollectionError", message: /fingerprint/ });
  assert.equal(sent.length, 0);
  assert.equal(await ledger.spent(), 0);
});

test("of many users, those whose ledger refuses are told, and all others report", async () => {
  const poor = await user({ budget: 0.1 });
  const users = [await user(), poor, await user()].map((ledger) => ({ record: RECORD, ledger }));
  const { gateway, sent } = gatewayOf({ answers: [[200, { reports: 2 }]] });
  const refused = [];
  const reporter = new Reporter({ gateway, collection: survey });
  const found = await reporter.reportMany(users, { onRefused: (place, why) => refused.push([place, why.name]) });
  assert.equal(found, 2);
  assert.deepEqual(refused, [[1, "BudgetExceeded"]]);
  assert.equal(sent[0].length, 56 + 2);
});

test("of many users, a store that fails loses no report that is paid for", async () => {
  const broken = await user();
  broken.store.update = async () => {
    throw new Error("the disk is full");
  };
  const users = [await user(), broken, await user()].map((ledger) => ({ record: RECORD, ledger }));
  const { gateway, sent } = gatewayOf({ answers: [[200, { reports: 2 }]] });
  await assert.rejects(new Reporter({ gateway, collection: survey }).reportMany(users), { name: "LedgerError" });
  assert.equal(sent[0].length, 56 + 2);
});

test("what is no gateway is told so", async () => {
  const ledger = await user({ budget: 100 });
  for (const answer of [{}, { reports: "1" }, []]) {
    const { gateway } = gatewayOf({ answers: [[200, answer]] });
    const found = new Reporter({ gateway, collection: survey }).report(RECORD, ledger);
    await assert.rejects(found, { name: "GatewayError", reason: "no_gateway" });
  }
  for (const body of ["{}", '{"collections": null}', '{"collections": [null]}']) {
    const gateway = new Gateway("http://gateway", { fetch: async () => new Response(body) });
    await assert.rejects(gateway.check(survey), { name: /GatewayError|CollectionError/ });
  }
  for (const [asked, kept] of [
    ["-5", 1],
    ["soon", 1],
    ["1e-300", 1],
    ["30", 30],
  ]) {
    const answers = [
      [503, { reason: "busy", detail: "" }],
      [200, { reports: 1 }],
    ];
    const { gateway, pauses } = gatewayOf({ answers, headers: { "Retry-After": asked } });
    await new Reporter({ gateway, collection: survey }).report(RECORD, ledger);
    assert.deepEqual(pauses, [kept]);
  }
});

test("a gateway that asks for a long pause is not waited for, and the batch can be sent later", async () => {
  for (const [asked, mostPause, tries] of [
    ["3600", undefined, 1],
    ["1e12", undefined, 1],
    ["3600", 4000, 2],
  ]) {
    const answers = [
      [429, { reason: "too_many_requests", detail: "..." }],
      [200, { reports: 1 }],
    ];
    const { gateway, sent, pauses } = gatewayOf({
      answers,
      headers: { "Retry-After": asked },
      mostPause,
      patience: 4000,
    });
    const found = new Reporter({ gateway, collection: survey }).report(RECORD, await user());
    if (tries === 2) {
      assert.equal(await found, 1);
      assert.deepEqual(pauses, [3600]);
      continue;
    }
    const error = await found.then(assert.fail, (why) => why);
    assert.deepEqual(
      [error.name, error.reason, error.retryAfter],
      ["GatewayError", "too_many_requests", Number(asked)],
    );
    assert.deepEqual([pauses, sent.length], [[], 1]);
    assert.equal(await gateway.send(survey.name, error.batch), 1);
    assert.deepEqual(sent[1], sent[0]);
  }
});

test("an answer without an end is read no further than any gateway's could go", async () => {
  let pulled = 0;
  const part = new Uint8Array(2 ** 20).fill(0x20);
  const pull = (controller) => {
    pulled += 1;
    controller.enqueue(part.slice());
  };
  const fetch = async () => new Response(new ReadableStream({ pull }));
  const gateway = new Gateway("http://gateway", { fetch, pause: assert.fail });
  await assert.rejects(gateway.send("survey", new Uint8Array(1)), (error) => {
    assert.deepEqual([error.reason, error.batch.length], ["no_gateway", 1]);
    return true;
  });
  assert.ok(pulled < 20, `${pulled} MB were read`);
});

test("a gateway that takes a request and never answers is given up", async () => {
  const silent = createServer((socket) => socket.on("error", () => {}));
  await new Promise((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const pauses = [];
  const pause = async (seconds) => void pauses.push(seconds);
  const gateway = new Gateway(`http://127.0.0.1:${silent.address().port}`, { timeout: 0.05, patience: 10, pause });
  await assert.rejects(gateway.send("survey", new Uint8Array(1)), (error) => {
    assert.deepEqual([error.reason, error.batch.length], ["unreachable", 1]);
    assert.match(error.detail, /does not answer within 0.05 s/);
    return true;
  });
  silent.close();
  assert.deepEqual(pauses, [1, 2, 4]);
});

test("a time without an end is refused at once", () => {
  const given = (options) => () => new Gateway("http://127.0.0.1:1", options);
  for (const timeout of [Infinity, NaN, 0, -1, 86_401, "soon"]) assert.throws(given({ timeout }), ParameterError);
  for (const mostPause of [Infinity, NaN, -1, 2 ** 31]) assert.throws(given({ mostPause }), ParameterError);
  assert.doesNotThrow(given({ timeout: 86_400, mostPause: 0 }));
});

test("a timeout need not be of whole milliseconds", async () => {
  const fetch = async () => new Response('{"reports": 1}');
  const gateway = new Gateway("http://gateway", { timeout: 1.0005, fetch, pause: assert.fail });
  assert.equal(await gateway.send("survey", new Uint8Array(1)), 1);
});

test("an answer that does not end is given up", async () => {
  const endless = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", () => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"));
  });
  await new Promise((resolve) => endless.listen(0, "127.0.0.1", resolve));
  const gateway = new Gateway(`http://127.0.0.1:${endless.address().port}`, { timeout: 0.05, pause: async () => {} });
  await assert.rejects(gateway.check(survey), { reason: "unreachable" });
  endless.close();
});

test("a batch has the type that pages may send only where they are let in", async () => {
  const types = [];
  const fetch = async (_, { headers }) => {
    types.push(headers["Content-Type"]);
    return new Response('{"reports": 1}');
  };
  await new Gateway("http://gateway", { fetch }).send("survey", new Uint8Array(1));
  assert.deepEqual(types, ["application/vnd.sldp.batch;v=1"]);
});

test("many users fill several batches, each with an id of its own", async () => {
  const users = [await user(), await user(), await user()].map((ledger) => ({ record: RECORD, ledger }));
  const { gateway, sent } = gatewayOf({
    answers: [
      [200, { reports: 2 }],
      [200, { reports: 1 }],
    ],
  });
  assert.equal(await new Reporter({ gateway, collection: survey, mostReports: 2 }).reportMany(users), 3);
  assert.deepEqual(
    sent.map((batch) => batch.length - 56),
    [2, 1],
  );
  assert.notEqual(toHex(sent[0].subarray(32, 48)), toHex(sent[1].subarray(32, 48)));
});

test("a user who is not asked sends nothing, and is charged nothing", async () => {
  const sampled = await Collection.of({ ...SURVEY, sample: 2 ** -32 });
  const { gateway, sent } = gatewayOf({ collection: sampled });
  const ledger = await user();
  assert.equal(await new Reporter({ gateway, collection: sampled }).report(RECORD, ledger), 0);
  assert.equal(sent.length, 0);
  assert.equal(await ledger.spent(), 0);
});

test("permanent noise stays in all reports of a user, and fresh noise does not", async () => {
  const { mechanism } = survey;
  const ledger = await user({ budget: 1e3 });
  const { gateway, sent } = gatewayOf();
  const reporter = new Reporter({ gateway, collection: survey });
  for (let i = 0; i < 60; i++) await reporter.report(RECORD, ledger);
  const permanent = mechanism.permanent([0, 1], survey.permanentWords(ledger.secret, [0, 1]));
  const rows = sent.map((batch) => batch[56]);
  assert.ok(new Set(rows).size > 1, "all alike with probability below 1e-60");
  permanent.forEach((bit, i) => {
    const ones = rows.filter((row) => (row >> i) & 1).length;
    // Binomial(60, 3/4) is below 30 with probability 4e-6; five bits fail once in 50,000 runs.
    assert.ok(bit ? ones >= 30 : ones <= 30, `bit ${i} is ${bit}, and was sent as 1 in ${ones} of 60 reports`);
  });
});

test("a page that is visited again goes on with the ledger that it has", async () => {
  const store = new MemoryStore();
  const first = await Ledger.openOrCreate({ store, budget: 4 });
  await first.spend(survey, survey.encode(RECORD));
  const second = await Ledger.openOrCreate({ store, budget: 8 });
  assert.deepEqual(second.secret, first.secret);
  assert.equal(await second.spent(), await first.spent());
  assert.equal((await second.terms()).budget, 4, "a user who visits again has not agreed to more");
  await store.update("user", () => "{}");
  await assert.rejects(Ledger.openOrCreate({ store, budget: 4 }), /is damaged/);
});

test("two tabs that open a new user's ledger at once have one secret", async () => {
  const store = new MemoryStore();
  const tabs = await Promise.all([1, 2].map(() => Ledger.openOrCreate({ store, budget: 4 })));
  assert.deepEqual(tabs[0].secret, tabs[1].secret);
});

test("what is missing from a call is named", async () => {
  const { gateway } = gatewayOf();
  const reporter = new Reporter({ gateway, collection: survey });
  assert.throws(() => new Gateway("not a url"), /"not a url" is not the address of a gateway, such as https/);
  assert.throws(() => new Gateway(), /^ParameterError: undefined is not the address of a gateway/);
  assert.throws(() => new Reporter(), /needs a gateway/);
  assert.throws(() => new Reporter({ gateway }), /needs a collection/);
  await assert.rejects(Ledger.create(), /a budget is a positive number/);
  await assert.rejects(Ledger.create({ budget: 4 }), /needs a store/);
  await assert.rejects(Ledger.open(), /needs a store/);
  await assert.rejects(reporter.reportMany({}), /takes a list/);
  await assert.rejects(reporter.report(RECORD), /user 0 has no ledger/);
  await assert.rejects(reporter.report(undefined, await user()), /a record has a value for each attribute/);
});

test("a page of another origin is told of --origin where a gateway gives no answer", async () => {
  const refuse = async () => {
    throw new TypeError("Failed to fetch");
  };
  const gateway = new Gateway("http://gateway", { fetch: refuse, pause: async () => {} });
  await assert.rejects(gateway.collection("care-survey"), /http:\/\/gateway does not answer$/);
  globalThis.location = { origin: "https://app.example" };
  try {
    await assert.rejects(gateway.collection("care-survey"), /start the gateway with --origin https:\/\/app\.example/);
  } finally {
    delete globalThis.location;
  }
});

test("reports that linger share a batch, which leaves in time, when a window ends, when it is full, or by flush", async () => {
  const users = await Promise.all(Array.from({ length: 4 }, () => user({ budget: 100 })));
  const { gateway, sent } = gatewayOf();
  let now = 0;
  const reporter = new Reporter({ gateway, collection: survey, clock: () => now, linger: 3000, mostReports: 3 });
  const rows = () => sent.map((batch) => batch.length - 56);
  const calls = users.slice(0, 2).map((ledger) => reporter.report(RECORD, ledger));
  while ((await users[1].spent()) === 0) await new Promise(setImmediate);
  assert.deepEqual(rows(), []);
  await Promise.all([...calls, reporter.report(RECORD, users[2])]);
  assert.deepEqual(rows(), [3], "it is full");
  const early = reporter.report(RECORD, users[0]);
  while ((await users[0].spent()) < 5) await new Promise(setImmediate);
  now = 60_000;
  const late = reporter.report(RECORD, users[3]);
  assert.equal(await early, 1);
  assert.deepEqual(rows(), [3, 1], "a batch is of one window");
  while ((await users[3].spent()) === 0) await new Promise(setImmediate);
  await new Promise(setImmediate);
  await reporter.flush();
  assert.equal(await late, 1);
  assert.deepEqual(rows(), [3, 1, 1]);
  const soon = new Reporter({ gateway, collection: survey, clock: () => now, linger: 0.01 });
  assert.equal(await soon.report(RECORD, users[1]), 1);
  assert.deepEqual(rows(), [3, 1, 1, 1]);
  const times = sent.map((batch) => Number(new DataView(batch.buffer).getBigInt64(48, true)));
  assert.deepEqual(times, [0, 0, 60_000, 60_000]);
});

test("of reports that share a batch which is not taken, each call is told", async () => {
  const { gateway } = gatewayOf({ answers: [[400, { reason: "late", detail: "" }]] });
  const reporter = new Reporter({ gateway, collection: survey, linger: 0.01 });
  const calls = await Promise.allSettled([await user(), await user()].map((ledger) => reporter.report(RECORD, ledger)));
  assert.deepEqual(
    calls.map(({ reason }) => reason.reason),
    ["late", "late"],
  );
  await reporter.flush();
});

const films = await Collection.of(fileOf("films", { window: { size: 60_000 } }));

/** A gateway for films that asks about two items in every later phase. */
function roundsOf(collection, now) {
  const { gateway, sent } = gatewayOf({ collection });
  gateway.rounds = async () => {
    const window = collection.paneOf(now());
    const [epoch, phase] = [Math.floor(window / 3), (window % 3) + 1];
    const start = collection.startOf(epoch, phase);
    const { epsilon } = collection.phases[phase - 1];
    const own = {
      schema_version: 1,
      collection_fingerprint: toHex(collection.fingerprint),
      candidates: [1, 3],
      padding: 2,
    };
    const round = { ...own, epoch, phase, epsilon, start_ms: start, end_ms: start + collection.paneMs };
    return [{ ...round, epsilon: 99 }, round, null, { ...round, candidates: [3, 1] }];
  };
  return { gateway, sent };
}

/** A clock whose pauses pass at once, until a time at which a signal ends what waits. */
function clockUntil(end) {
  const ending = new AbortController();
  let now = 0;
  const pause = async (ms) => {
    now += ms;
    if (now >= end) ending.abort();
  };
  return { now: () => now, signal: ending.signal, parts: { clock: () => now, pause } };
}

test("a set is followed phase after phase, once in each that asks the user, within its window", async () => {
  const epochs = 20;
  const { now, signal, parts } = clockUntil(epochs * 3 * films.paneMs);
  const { gateway, sent } = roundsOf(films, now);
  const ledger = await user({ budget: 1e3 });
  const reporter = new Reporter({ gateway, collection: films, ...parts });
  const receipts = [];
  let held = 0;
  const items = () => (held++, ["Brazil", "Dune"]);
  const found = await reporter.follow(items, ledger, { signal, onReceipt: (receipt) => receipts.push(receipt) });
  // Phase 1 and one of the two that follow ask every user.
  assert.equal(found, 2 * epochs);
  assert.ok(found === sent.length && found === receipts.length && held === found + 1);
  const { phases } = JSON.parse(await ledger.store.get("user"));
  assert.equal(
    phases.reduce((sum, { reports }) => sum + reports, 0),
    found,
  );
  const times = sent.map((batch) => Number(new DataView(batch.buffer).getBigInt64(48, true)));
  assert.equal(new Set(times.map((time) => films.paneOf(time))).size, found, "one report in a window");
  const places = times.map((time) => time % films.paneMs);
  // All in one half of their window once in 10^11 runs.
  assert.ok(places.some((place) => place < films.paneMs / 2) && places.some((place) => place >= films.paneMs / 2));
  assert.match(receipts[0].about[0], /^a set, in phase [123]$/);
});

test("a set that is followed ends with the first refusal that nobody is told of", async () => {
  const pipelined = await Collection.of(fileOf("films", { window: { size: 60_000 }, epochs: "pipelined" }));
  const { now, signal, parts } = clockUntil(1e6);
  const { gateway, sent } = roundsOf(pipelined, now);
  const reporter = new Reporter({ gateway, collection: pipelined, ...parts });
  const poor = await user({ budget: 0.1 });
  await assert.rejects(reporter.follow(["Dune"], poor, { signal }), { name: "BudgetExceeded" });
  const refused = [];
  const ending = new AbortController();
  const onRefused = (why) => (refused.push(why.name), ending.abort());
  assert.equal(await reporter.follow(["Dune"], poor, { signal: ending.signal, onRefused }), 0);
  assert.deepEqual([refused, sent.length], [["BudgetExceeded"], 0]);
  await assert.rejects(reporter.follow(["None"], poor, { signal }), { name: "DataError" });
  const records = new Reporter({ gateway: gatewayOf().gateway, collection: survey });
  await assert.rejects(records.follow([], poor, { signal }), { name: "ParameterError" });
});

test("a set is reported once to each round, however often a page is visited", async () => {
  let now = 0;
  const { gateway, sent } = roundsOf(films, () => now);
  const ledger = await user({ budget: 1e3 });
  const reporter = new Reporter({ gateway, collection: films, clock: () => now });
  let found = 0;
  for (now = 0; now < 180_000; now += 10_000) found += await reporter.report(["Dune", "Heat"], ledger);
  assert.deepEqual([found, sent.length], [2, 2], "phase 1, and one of the two that follow");
  assert.equal(await ledger.spent(), 4);
});
