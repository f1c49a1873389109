/** A client that reports under local differential privacy to the gateway of stream-ldp. */

/** A value of an attribute: a number where it has bins or a range; null where it is missing. */
export type Value = string | number | bigint | boolean | null;

/** A record: for every attribute one of its values; of strings, the string; of places, `place`, `region` and `epsilon`. */
export type RawRecord = Readonly<Record<string, Value>>;

/** A set of items, by their names or numbers. */
export type Items = Iterable<string | number>;

/** What a report answers: a collection, or a round of one. */
export interface Inquiry {
  /** 16 bytes. */
  readonly fingerprint: Uint8Array;
  /** Bytes of a row. */
  readonly width: number;
}

/** A collection of any kind: what a user is asked, how it is perturbed, and the fingerprint of that. */
export class Collection {
  private constructor();

  /**
   * Read a collection; the module of its kind is loaded with the first one.
   *
   * @param document as a gateway serves it at /v1/collections/NAME/document, or a collection file as JSON
   * @param options.meaning the text behind the fingerprint, as a gateway serves it at /v1/collections/NAME/meaning;
   *   sampled collections, strings and places need it
   * @throws {CollectionError} it is of no known kind, or something in it is wrong
   */
  static of(document: unknown, options?: { meaning?: string | (() => Promise<string>) }): Promise<Collection>;

  readonly name: string;
  /** The text behind the fingerprint. */
  readonly meaning: string;
  /** 16 bytes. */
  readonly fingerprint: Uint8Array;
  /** Bytes of a row. */
  readonly width: number;
  /** Whether users report sets of items, in rounds. */
  get hasRounds(): boolean;

  /** List what the user with a secret is asked at a time, in milliseconds, of rounds that a gateway has. */
  asked(user: { secret: Uint8Array; timeMs: number; rounds?: readonly unknown[] }): Inquiry[];
}

/** A gateway, by its address. */
export class Gateway {
  /**
   * @param url such as https://reports.example
   * @param options.token bearer token, if the gateway asks for one
   * @param options.timeout seconds after which a request that is not answered is given up; 30 if not given
   * @param options.mostPause seconds that a request may wait to be made again, 30 if not given: where the gateway asks
   *   for more, there is an error at once
   * @param options.patience seconds from a request until it is no longer made again, 120 if not given
   * @throws {ParameterError} url is no address, or a time is no number of seconds, or longer than a day
   */
  constructor(
    url: string,
    options?: {
      token?: string;
      timeout?: number;
      mostPause?: number;
      patience?: number;
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
   * Return what the service asks users of item sets now, and asked lately.
   *
   * @throws {GatewayError} it does not answer
   */
  rounds(name: string): Promise<unknown[]>;

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
  /** Nats that all reports may cost in a lifetime; with Infinity, they are only counted. */
  budget: number;
  /** Nats that all reports of one day, UTC, may cost; Infinity leaves it to the budget. */
  perDay: number;
  /** Nats that all reports of any `spanDays` days that follow each other may cost; Infinity leaves it to the others. */
  perSpan: number;
  /** Number of those days, of 24 hours each: 1 to 3660, or 0 where `perSpan` is Infinity. */
  spanDays: number;
  /** The most values of an attribute that may be reported, one after another, with permanent noise. */
  values: number;
  /** Whether the permanent noise of every report is drawn anew: values may change, and each costs as the first. */
  fresh: boolean;
  /** Whether reports may carry a pseudonym that the user keeps for a period, where a collection asks for it. */
  linked: boolean;
}

/** A new user: terms, of which all but the budget may be left out, and where the ledger is. */
export type NewUser = {
  store: Store;
  key?: string;
  budget: number;
  /** 32 bytes, of a user who has no other ledger with it; drawn where it is left out. */
  secret?: Uint8Array;
} & Partial<Terms>;

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
  static create(user: NewUser): Promise<Ledger>;

  /**
   * Open the ledger of a user who has one, with the terms that it has, and begin that of a new user.
   *
   * @throws {LedgerError} the ledger is damaged, or the terms make no sense
   */
  static openOrCreate(user: NewUser): Promise<Ledger>;

  /**
   * Open the ledger of a user who has one.
   *
   * @throws {LedgerLost} it is missing; it does not begin anew by itself
   * @throws {LedgerError} it is damaged
   */
  static open(user: { store: Store; key?: string }): Promise<Ledger>;

  /** Whether it was begun just now: an application that has seen its user before then sees that the ledger was lost. */
  readonly isNew: boolean;

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
}

/** What a report shows of its user, for the user alone: it has no true value. Show it; neither send nor log it. */
export class Receipt {
  private constructor();

  /** Name of the collection. */
  readonly collection: string;
  /** What is shown with noise, such as names of attributes. */
  readonly about: readonly string[];
  /** The report, as it leaves. */
  readonly row?: Uint8Array;
  /** Whether it carries a pseudonym or seed that links it. */
  readonly linked: boolean;
  /** Nats that it has cost. */
  readonly cost: number;
  /** Nats that all reports of the user have cost. */
  readonly spent: number;
  /** Nats that they may cost in a lifetime. */
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
   * @param parts.linger seconds that a report waits for those of other calls to share its batch; 0, if not given, to
   *   send it at once
   * @throws {ParameterError} one of them is missing, or none
   */
  constructor(parts: {
    gateway: Gateway;
    collection: Collection;
    clock?: () => number;
    mostReports?: number;
    linger?: number;
  });

  /**
   * Report what one user holds: a record, or a set of items, to each round that is open and asks the user.
   *
   * @param ledger the user's
   * @returns reports that the brokers have; 0 if the user is not asked now, or has reported to all
   * @throws see `reportMany`
   */
  report(held: RawRecord | Items, ledger: Ledger, options?: ReportOptions): Promise<number>;

  /**
   * Report what each of many users holds, in as few batches as they fit in.
   *
   * @returns number of their reports, which the brokers have
   * @throws {DataError} a record does not fit; nothing was charged or sent
   * @throws {CollectionError} the gateway has another collection; nothing was charged or sent
   * @throws {ReportRefused} see `onRefused`
   * @throws {GatewayError} reports are charged, but not acknowledged; the error has the batch, which may be sent again
   */
  reportMany(users: readonly { record: RawRecord | Items; ledger: Ledger }[], options?: ReportOptions): Promise<number>;

  /**
   * Report a user's set of items to each round that asks the user, at a random moment of what is left of its window,
   * until a signal ends that.
   *
   * @param items the set, or what returns the one that is held at the moment
   * @returns reports that the brokers have, once the signal has come
   * @throws see `reportMany`
   */
  follow(
    items: Items | (() => Items),
    ledger: Ledger,
    options: {
      signal: AbortSignal;
      onRefused?: (why: ReportRefused) => void;
      onReceipt?: (receipt: Receipt) => void;
    },
  ): Promise<number>;

  /** Send what lingers now; resolves once the gateway has it. */
  flush(): Promise<void>;
}

export interface ReportOptions {
  /** Told whose ledger refuses the report; without it, the first such error is thrown once all others are sent. */
  onRefused?: (place: number, why: ReportRefused | LedgerError) => void;
  /** Given the receipt of each report, for its user, before it leaves. */
  onReceipt?: (place: number, receipt: Receipt) => void;
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

/** Something was called with what it cannot take. */
export class ParameterError extends StreamLDPError {}

/** A collection is not one that this client speaks, or not the one that the service runs. */
export class CollectionError extends StreamLDPError {}

/** A record does not fit its collection. The message never repeats a value. */
export class DataError extends StreamLDPError {}

/** The ledger of a user is missing, damaged, or there already, or its store has failed. */
export class LedgerError extends StreamLDPError {}

/** There is no ledger where one has been: the user's secret is lost, and what was spent with it is not known. */
export class LedgerLost extends LedgerError {}

/** The terms of a user do not allow a report. Nothing was sent, and nothing charged. */
export class ReportRefused extends StreamLDPError {}

/** The budget of a user does not cover a report. */
export class BudgetExceeded extends ReportRefused {}

/** A report would cost more than a day may; the next day, UTC, has a budget of its own. */
export class DayBudgetExceeded extends BudgetExceeded {}

/** A report would cost more than some days that follow each other may, whenever they begin. */
export class SpanBudgetExceeded extends BudgetExceeded {}

/** A value of a record has changed, and the user has not agreed to it. */
export class TooManyValues extends ReportRefused {}

/** A report would carry what links it to others, as a pseudonym does, and its user has not agreed to that. */
export class LinkingRefused extends ReportRefused {}

/** The user has reported to a phase of an epoch already, or may have. */
export class AlreadyReported extends ReportRefused {}

/** The user has had a turn in the windows, or epochs, before, or may have: a clock may have been ahead. */
export class TurnTaken extends ReportRefused {}

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
