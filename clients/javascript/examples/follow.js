/** Report a set of items, phase after phase, for so many seconds: node examples/follow.js http://127.0.0.1:8443 60 */

import { Gateway, Ledger, MemoryStore, Reporter } from "stream-ldp-client";

const gateway = new Gateway(process.argv[2]);
const ledger = await Ledger.openOrCreate({ store: new MemoryStore(), budget: 40 });
const held = new Set(["Brazil", "Dune"]);

const reporter = new Reporter({ gateway, collection: await gateway.collection("films") });
const signal = AbortSignal.timeout(1000 * Number(process.argv[3]));
const reports = await reporter.follow(() => held, ledger, {
  signal,
  onReceipt: (receipt) => console.log(String(receipt)),
  onRefused: (why) => console.log(why.message),
});
console.log(`${reports} reports`);
