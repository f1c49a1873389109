/** A client that reports records under local differential privacy to the gateway of stream-ldp. */

export { encodeBatch } from "./batch.js";
export { Collection } from "./collection.js";
export {
  BudgetExceeded,
  CollectionError,
  DataError,
  DayBudgetExceeded,
  GatewayError,
  LedgerError,
  LinkingRefused,
  ReportRefused,
  StreamLDPError,
  TooManyValues,
} from "./errors.js";
export { Gateway } from "./gateway.js";
export { Ledger, Receipt } from "./ledger.js";
export { Reporter } from "./reporter.js";
export { IndexedDBStore, MemoryStore } from "./store.js";
