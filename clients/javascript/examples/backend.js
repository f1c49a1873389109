/** Report for many users, as a backend does: node examples/backend.js http://127.0.0.1:8443 */

import { Gateway, Ledger, MemoryStore, Reporter } from "stream-ldp-client";

const gateway = new Gateway(process.argv[2]);
const collection = await gateway.collection("care-survey");
const store = new MemoryStore();
const ledgerOf = (user) => Ledger.openOrCreate({ store, key: user, budget: 4 });

// Reports of calls within a fifth of a second share a batch; each call resolves once the brokers have its report.
const reporter = new Reporter({ gateway, collection, linger: 0.2 });
const answer = { bathing: "no", mobility: "some" };
const calls = ["ada", "grace", "alan"].map(async (user) => reporter.report(answer, await ledgerOf(user)));
console.log(await Promise.all(calls));

// Users whose ledger refuses are listed by their place, and all others report.
const users = await Promise.all(
  ["ada", "mary"].map(async (user) => ({ record: answer, ledger: await ledgerOf(user) })),
);
const onRefused = (place, why) => console.log(`user ${place}: ${why.message}`);
console.log(await reporter.reportMany(users, { onRefused }));
