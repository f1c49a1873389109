/** A receipt: what a report has shown of its user, for the user alone. */

import { toHex } from "./bytes.js";

/** Bytes of a report that a sentence shows. */
const SHOWN_BYTES = 16;

const nats = (number, round) => (round(number * 1000) / 1000).toFixed(3);

/** What a report shows of its user, for the user alone: it has no true value. Show it; neither send nor log it. */
export class Receipt {
  /**
   * @param {object} parts
   * @param {string} parts.collection name
   * @param {string[]} parts.about what is shown with noise, such as names of attributes
   * @param {Uint8Array} [parts.row] the report, as it leaves
   * @param {boolean} parts.linked whether it carries a pseudonym or seed that links it
   * @param {number} parts.cost nats that it has cost
   * @param {number} parts.spent nats that all reports of the user have cost
   * @param {number} parts.budget nats that they may cost
   */
  constructor(parts) {
    Object.assign(this, parts);
    /** Nats that are left of the budget. */
    this.left = Math.max(0, this.budget - this.spent);
    /** The largest posterior of one of two records that were held for equally likely, after all reports so far. */
    this.surest = 1 / (1 + Math.exp(-this.spent));
    Object.freeze(this);
  }

  /** Return the receipt of the same report once it is made. @param {Uint8Array} row @returns {Receipt} */
  of(row) {
    return new Receipt({ ...this, row });
  }

  toString() {
    const bytes = this.row?.length;
    const shown = toHex((this.row ?? new Uint8Array(0)).subarray(0, SHOWN_BYTES)) + (bytes > SHOWN_BYTES ? "..." : "");
    const what = bytes === undefined ? "a report" : `${bytes} ${bytes === 1 ? "byte" : "bytes"}, ${shown}`;
    const about = [this.about.slice(0, -1).join(", "), ...this.about.slice(-1)].filter(Boolean).join(" and ");
    const left =
      this.budget < Infinity ? `${nats(this.left, Math.floor)} of ${this.budget} are left` : "there is no budget";
    const guess = Math.ceil(this.surest * 1000) / 10;
    return (
      `Sent to ${this.collection}: ${what}, with noise, about ${about}.` +
      (this.linked ? " It shows which reports are yours." : "") +
      ` Cost: ${nats(this.cost, Math.ceil)} nats; ${left}. Between two equally likely records, the best guess of yours ` +
      `is now ${guess < 100 ? guess.toFixed(1) : "over 99.9"} % right.`
    );
  }
}
