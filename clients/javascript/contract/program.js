/** The client behind the protocol of docs/clients/contract.md: node contract/program.js */

import { readFileSync, writeSync } from "node:fs";
import { basename, dirname } from "node:path";
import { createInterface } from "node:readline";

import {
  BudgetExceeded,
  Collection,
  CollectionError,
  DataError,
  DayBudgetExceeded,
  Gateway,
  Ledger,
  LedgerError,
  LinkingRefused,
  MemoryStore,
  Reporter,
  SpanBudgetExceeded,
  TooManyValues,
} from "../src/index.js";
import { toHex, fromHex } from "../src/bytes.js";
import { MECHANISMS } from "../src/kinds.js";
import { FileStore } from "../src/node.js";
import { freshWords } from "../src/words.js";

const PROTOCOL = 1;
const STEPS = ["unwritten", "written", "charged", "sent"];

/** Status with which the process ends at a step, as EX_SOFTWARE of sysexits.h. */
const CRASHED = 70;

/** The most reports of one batch: those of a request leave together. */
const MOST_REPORTS = 1_000_000;

/** The reason of each refusal; a subclass stands before its base. */
const REASONS = [
  [CollectionError, "bad_collection"],
  [DataError, "bad_record"],
  [DayBudgetExceeded, "day_budget_exceeded"],
  [SpanBudgetExceeded, "span_budget_exceeded"],
  [BudgetExceeded, "budget_exceeded"],
  [TooManyValues, "too_many_values"],
  [LinkingRefused, "linking_refused"],
  [LedgerError, "bad_ledger"],
];

let crash;
const crashAt = (step) => {
  if (crash === step) process.exit(CRASHED);
};

/** Write a line before anything else happens. */
const tell = (message) => writeSync(1, `${JSON.stringify(message)}\n`);

class CrashingStore extends FileStore {
  async write(draft, text) {
    crashAt("unwritten");
    await super.write(draft, text);
    crashAt("written");
  }
}

const collections = new Map();
const users = new Map();

/** A gateway that takes whatever it is sent, and has given rounds. */
function gatewayOf(collection, rounds) {
  const { name, fingerprint } = collection;
  const fetch = async (url, { method, headers, body }) => {
    const path = new URL(url).pathname;
    if (method === "GET" && path.endsWith("/rounds")) return new Response(JSON.stringify({ rounds }));
    if (method === "GET")
      return new Response(JSON.stringify({ collections: [{ name, fingerprint: toHex(fingerprint) }] }));
    crashAt("charged");
    const told = Object.entries(headers).map(([header, value]) => [header.toLowerCase(), value]);
    tell({ left: { path, headers: told, value: toHex(body) } });
    crashAt("sent");
    return new Response(JSON.stringify({ reports: new DataView(body.buffer).getUint32(12, true) }));
  };
  return new Gateway("http://gateway", { fetch });
}

const DOES = {
  hello() {
    const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
    const mechanisms = [...MECHANISMS, "views"];
    return { protocol: PROTOCOL, language: "javascript", client: version, mechanisms, steps: STEPS };
  },

  async collection({ document, meaning }) {
    const collection = await Collection.of(document, { meaning });
    if (collection.meaning !== meaning) throw new CollectionError("the meaning is not that of the document");
    collections.set(collection.name, collection);
    return { name: collection.name, fingerprint: toHex(collection.fingerprint) };
  },

  async user({ user, secret, path, terms }) {
    const store = path === undefined ? new MemoryStore() : new CrashingStore(dirname(path));
    const key = path === undefined ? user : basename(path);
    const { budget, per_day: perDay, per_span: perSpan, span_days: spanDays, ...others } = terms ?? {};
    const agreed = {
      budget: budget === null ? Infinity : budget,
      perDay: perDay ?? Infinity,
      perSpan: perSpan ?? Infinity,
      spanDays: spanDays ?? 0,
      ...others,
    };
    const ledger =
      terms === undefined
        ? await Ledger.open({ store, key })
        : await Ledger.create({ store, key, secret: fromHex(secret), ...agreed });
    if (toHex(ledger.secret) !== secret) throw new LedgerError("the ledger is of a user with another secret");
    users.set(user, ledger);
    return { spent: await ledger.spent() };
  },

  async report({ collection: name, user, record, time_ms: timeMs, words, times = 1, rounds = [], crash: step }) {
    const collection = collections.get(name);
    const ledger = users.get(user);
    let at = 0;
    const cycled = { next: () => words[at++ % words.length] };
    const reporter = new Reporter({
      gateway: gatewayOf(collection, rounds),
      collection,
      clock: () => timeMs,
      mostReports: MOST_REPORTS,
      noise: words === undefined ? freshWords : () => cycled,
    });
    const held = { record: collection.hasRounds ? record.items : record, ledger };
    let receipt = null;
    crash = step;
    const reports = await reporter.reportMany(Array(times).fill(held), {
      onReceipt: (_, made) => (receipt = String(made)),
    });
    crash = undefined;
    return { reports, spent: await ledger.spent(), receipt };
  },

  async spent({ user }) {
    return { spent: await users.get(user).spent() };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  try {
    const { do: asked, ...request } = JSON.parse(line);
    tell(await DOES[asked](request));
  } catch (error) {
    crash = undefined;
    const [, reason] = REASONS.find(([kind]) => error instanceof kind) ?? [];
    tell(reason === undefined ? { failed: `${error}` } : { refused: reason, detail: error.message });
  }
}
