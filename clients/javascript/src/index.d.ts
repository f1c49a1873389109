/** A client that reports records under local differential privacy to the gateway of stream-ldp. */

/** A record: for every attribute one of its values; a number where it has bins; null where it is missing. */
export type RawRecord = Readonly<Record<string, string | number | null>>;

/** A collection: what a record is, how it is perturbed, and the fingerprint of that. */
export class Collection {
  private constructor();

  /**
   * Read a collection.
   *
   * @param document as a gateway serves it at /v1/collections/NAME/document
   * @throws {CollectionError} it is no collection of records, or something in it is wrong
   */
  static of(document: unknown): Promise<Collection>;

  readonly name: string;
  /** 16 bytes. */
  readonly fingerprint: Uint8Array;

  /**
   * Convert a record to the numbers of its values.
   *
   * @throws {DataError} the message never repeats a value
   */
  encode(record: RawRecord): number[];

  /** Decide whether the user with a secret is asked at a time, in milliseconds; the same in all of a pane. */
  asks(secret: Uint8Array, timeMs: number): boolean;
}

/** A gateway, by its address. */
export class Gateway {
  /**
   * @param url such as https://reports.example
   * @param options.token bearer token, if the gateway asks for one
   * @param options.timeout seconds after which a request that is not answered is given up; 30 if not given
   * @param options.mostPause seconds that a request may wait to be made again, 30 if not given: where the gateway asks
   *   for more, there is an error at once
   * @throws {TypeError} url is no address
   * @throws {RangeError} timeout or mostPause is no number of seconds, or longer than a day
   */
  constructor(
    url: string,
    options?: {
      token?: string;
      timeout?: number;
      mostPause?: number;
      fetch?: typeof globalThis.fetch;
      pause?: (seconds: number) => Promise<void>;
    },
  );

  /**
   * Read a collection.
   *
   * @throws {CollectionError} it is of a kind that this client does not speak
   * @throws {GatewayError} the gateway does not have it, or does not answer
   */
  collection(name: string): Promise<Collection>;

  /**
   * Check that the gateway has this very collection.
   *
   * @throws {CollectionError} it has another one of this name, or none
   * @throws {GatewayError} it does not answer
   */
  check(collection: Collection): Promise<void>;

  /**
   * Send a batch, again and as the same bytes while the gateway cannot take it.
   *
   * @returns number of reports that the brokers have
   * @throws {GatewayError} with the gateway's reason, and with the batch
   */
  send(name: string, batch: Uint8Array): Promise<number>;
}

/**
 * Where ledgers are kept.
 *
 * `update` replaces the text under a key by `change(text)`, and resolves once the new text is kept through a crash; if
 * `change` throws, it keeps the old text and rejects with the error. Nothing else may change the text in between.
 */
export interface Store {
  get(key: string): Promise<string | undefined>;
  update(key: string, change: (text: string | undefined) => string): Promise<void>;
}

/** A store in memory, for tests, and for users of a backend that keeps its ledgers itself. */
export class MemoryStore implements Store {
  get(key: string): Promise<string | undefined>;
  update(key: string, change: (text: string | undefined) => string): Promise<void>;
}

/** A store in the IndexedDB of a page's origin, which its tabs and workers share. */
export class IndexedDBStore implements Store {
  /** @param name of the database */
  constructor(name?: string);
  /** Ask the browser to keep the data until the user deletes it; resolves to whether it will. */
  persist(): Promise<boolean>;
  get(key: string): Promise<string | undefined>;
  update(key: string, change: (text: string | undefined) => string): Promise<void>;
}

/** What a user has agreed to. */
export interface Terms {
  /** Nats that all reports may cost, for ever. */
  budget: number;
  /** Nats that all reports of one day, UTC, may cost; Infinity leaves it to the budget. */
  perDay: number;
  /** The most values of an attribute that may be reported, one after another, with permanent noise. */
  values: number;
  /** Whether the permanent noise of every report is drawn anew: values may change, and each costs as the first. */
  fresh: boolean;
  /** Whether reports may carry a pseudonym that the user keeps for a period, where a collection asks for it. */
  linked: boolean;
}

/** The ledger of one user: the secret, what all reports with it have cost, and what they may. */
export class Ledger {
  private constructor();

  /**
   * Begin the ledger of a new user, with a new secret.
   *
   * @param user the terms, of which all but the budget may be left out: then no day has a budget of its own, and an
   *   attribute has one value, with permanent noise; and the store, and the ledger's name in it
   * @throws {LedgerError} the store has this ledger already, or the terms make no sense
   */
  static create(user: { store: Store; key?: string; budget: number } & Partial<Terms>): Promise<Ledger>;

  /**
   * Open the ledger of a user who has one, with the terms that it has, and begin that of a new user.
   *
   * @throws {LedgerError} the ledger is damaged, or the terms make no sense
   */
  static openOrCreate(user: { store: Store; key?: string; budget: number } & Partial<Terms>): Promise<Ledger>;

  /**
   * Open the ledger of a user who has one.
   *
   * @throws {LedgerError} it is missing or damaged; it does not begin anew by itself
   */
  static open(user: { store: Store; key?: string }): Promise<Ledger>;

  /** The user's secret, 32 bytes, which is never sent. */
  get secret(): Uint8Array;

  /** Return what was spent, in nats. */
  spent(): Promise<number>;

  /** Return the terms to which the user has agreed. */
  terms(): Promise<Terms>;

  /**
   * Change the terms, to which the user has agreed; what is left out stays as it is.
   *
   * @throws {LedgerError} they make no sense
   */
  agree(terms: Partial<Terms>): Promise<void>;

  /**
   * Count one report of a record; resolves once the new state is kept, so that the report may leave.
   *
   * @param values numbers of the record's values
   * @param when.timeMs the time, milliseconds since 1970-01-01 UTC, which decides to what day it is charged
   * @returns whether it was charged as a report whose permanent noise is drawn anew, as it then must be; and the receipt,
   *   which has no row yet
   * @throws {BudgetExceeded} the budget does not cover it, or, if it is a DayBudgetExceeded, that of the day does not
   * @throws {TooManyValues} a value has changed, and the user has not agreed to that
   * @throws {LinkingRefused} it would carry a pseudonym, and the user has not agreed to that
   * @throws {LedgerError} the ledger is missing or damaged
   */
  spend(collection: Collection, values: readonly number[], when?: { timeMs?: number }): Promise<{ fresh: boolean; receipt: Receipt }>;
}

/** What a report shows of its user, for the user alone: it has no true value. Show it; neither send nor log it. */
export class Receipt {
  private constructor();

  /** Name of the collection. */
  readonly collection: string;
  /** Names of the attributes that are shown with noise. */
  readonly about: readonly string[];
  /** The report, as it leaves. */
  readonly row?: Uint8Array;
  /** Whether it carries a pseudonym. */
  readonly linked: boolean;
  /** Nats that it has cost. */
  readonly cost: number;
  /** Nats that all reports of the user have cost. */
  readonly spent: number;
  /** Nats that they may cost, for ever. */
  readonly budget: number;
  /** Nats that are left of the budget. */
  readonly left: number;
  /** The largest posterior of one of two records that were held for equally likely, after all reports so far. */
  readonly surest: number;

  /** Say it in sentences. */
  toString(): string;
}

/** A reporter for one collection. */
export class Reporter {
  /**
   * @param parts.clock the time, milliseconds since 1970-01-01 UTC
   * @param parts.mostReports of one batch
   */
  constructor(parts: { gateway: Gateway; collection: Collection; clock?: () => number; mostReports?: number });

  /**
   * Report the record of one user.
   *
   * @param ledger the user's
   * @returns 1 once the brokers have the report; 0 if the user is not asked now
   * @throws see `reportMany`
   */
  report(record: RawRecord, ledger: Ledger, options?: { onReceipt?: (place: number, receipt: Receipt) => void }): Promise<number>;

  /**
   * Report one record for each of many users, in as few batches as they fit in.
   *
   * @param options.onRefused told whose ledger refuses the report; without it, the first such error is thrown once the
   *   reports of all others are sent
   * @param options.onReceipt given the receipt of each report, for its user, before it leaves
   * @returns number of reports that the brokers have
   * @throws {DataError} a record does not fit; nothing was charged or sent
   * @throws {CollectionError} the gateway has another collection; nothing was charged or sent
   * @throws {ReportRefused} see `onRefused`
   * @throws {GatewayError} reports are charged, but not acknowledged; the error has the batch, which may be sent again
   */
  reportMany(
    users: readonly { record: RawRecord; ledger: Ledger }[],
    options?: { onRefused?: (place: number, why: ReportRefused | LedgerError) => void; onReceipt?: (place: number, receipt: Receipt) => void },
  ): Promise<number>;
}

/** Encode a batch; see docs/wire.md. */
export function encodeBatch(batch: {
  fingerprint: Uint8Array;
  batchId: Uint8Array;
  timeMs: number;
  rows: readonly Uint8Array[];
}): Uint8Array;

/** The base of all errors of this client. */
export class StreamLDPError extends Error {}

/** A collection is not one that this client speaks, or not the one that the service runs. */
export class CollectionError extends StreamLDPError {}

/** A record does not fit its collection. The message never repeats a value. */
export class DataError extends StreamLDPError {}

/** The ledger of a user is missing, damaged, or there already, or its store has failed. */
export class LedgerError extends StreamLDPError {}

/** The terms of a user do not allow a report. Nothing was sent, and nothing charged. */
export class ReportRefused extends StreamLDPError {}

/** The budget of a user does not cover a report. */
export class BudgetExceeded extends ReportRefused {}

/** A report would cost more than a day may; the next day, UTC, has a budget of its own. */
export class DayBudgetExceeded extends BudgetExceeded {}

/** A value of a record has changed, and the user has not agreed to it. */
export class TooManyValues extends ReportRefused {}

/** A report would carry a pseudonym that links it to others, and its user has not agreed to that. */
export class LinkingRefused extends ReportRefused {}

/** The gateway has not taken a request. */
export class GatewayError extends StreamLDPError {
  /** For programs: one of docs/wire.md, section 8, or of the gateway; `unreachable` where there was no answer. */
  readonly reason: string;
  /** For people. */
  readonly detail: string;
  /** Of the answer, if there was one. */
  readonly status?: number;
  /** Seconds after which to try again, if the gateway says so. */
  readonly retryAfter?: number;
  /** The batch that was not acknowledged: `Gateway.send` takes the same bytes again, which count once. */
  readonly batch?: Uint8Array;
  /** Whether the same request may be taken later: nothing is wrong with it. */
  get passes(): boolean;
}
