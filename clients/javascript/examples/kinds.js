/** Report to a collection of each kind: node examples/kinds.js http://127.0.0.1:8443 ledgers */

import { Gateway, Ledger, Reporter } from "stream-ldp-client";
import { FileStore } from "stream-ldp-client/node";

const store = new FileStore(process.argv[3]);
const ledger = await Ledger.openOrCreate({ store, budget: 40 });
if (ledger.isNew) console.log("a new user, or one whose ledger was lost");

const gateway = new Gateway(process.argv[2]);
const onReceipt = (_, receipt) => console.log(String(receipt));

async function report(name, held) {
  const reporter = new Reporter({ gateway, collection: await gateway.collection(name) });
  return reporter.report(held, ledger, { onReceipt });
}

// Records: all attributes in each report.
await report("care-survey", { bathing: "no", mobility: "some" });

// Sampled: each user answers one question permanently, about a value, a number or any text.
await report("habits", { diet: "fish", age: 41.5, site: "a.example" });

// Views: each user answers one question about a few attributes together.
await report("homes", { heating: "oil", owner: "yes" });

// Strings: the permanent seed links the reports of a user, so the user has to agree.
await ledger.agree({ linked: true });
await report("words", { word: "banana" });

// Places: the user chooses the stated region, and the epsilon that hides the place within it.
await report("visits", { place: "d", region: "south", epsilon: 2 });

// Key-value data: a number for each key that the user holds.
await report("features", { search: 12.5, maps: 3 });

// Sets: the items that a user holds, to each round that is open now and asks this user.
await report("films", ["Brazil", "Dune"]);
