/** A client that reports under local differential privacy to the gateway of stream-ldp. */

export { encodeBatch } from "./batch.js";
export { Collection } from "./collection.js";
export {
  AlreadyReported,
  BudgetExceeded,
  CollectionError,
  DataError,
  DayBudgetExceeded,
  GatewayError,
  LedgerError,
  LedgerLost,
  LinkingRefused,
  ParameterError,
  ReportRefused,
  SpanBudgetExceeded,
  StreamLDPError,
  TooManyValues,
  TurnTaken,
} from "./errors.js";
export { Gateway } from "./gateway.js";
export { Ledger } from "./ledger.js";
export { Receipt } from "./receipt.js";
export { Reporter } from "./reporter.js";
export { IndexedDBStore, MemoryStore } from "./store.js";
