/** What can go wrong, one class for each thing that a caller may do about it. */

/** The base of all errors of this client. */
export class StreamLDPError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** Something was called with what it cannot take, as a program does that has a fault. */
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
  /**
   * @param {object} what
   * @param {string} what.reason for programs: one of docs/wire.md, section 8, or of the gateway; `unreachable` where
   *   there was no answer
   * @param {string} what.detail for people
   * @param {number} [what.status] of the answer, if there was one
   * @param {number} [what.retryAfter] seconds after which to try again, if the gateway says so
   * @param {Uint8Array} [what.batch] the batch that was not acknowledged: `Gateway.send` takes the same bytes again,
   *   which count once and cost nothing more
   * @param {unknown} [what.cause]
   */
  constructor({ reason, detail, status, retryAfter, batch, cause }) {
    super(`${reason}: ${detail}`, { cause });
    this.reason = reason;
    this.detail = detail;
    this.status = status;
    this.retryAfter = retryAfter;
    this.batch = batch;
  }

  /** Whether the same request may be taken later: nothing is wrong with it. */
  get passes() {
    return this.status === undefined || [408, 429].includes(this.status) || this.status >= 500;
  }
}
