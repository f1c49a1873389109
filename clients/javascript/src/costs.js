/**
 * What reports cost, as a ledger keeps it (docs/wire.md, section 15): chances, and no names of mechanisms.
 *
 * Costs are stored, and not asked of a mechanism again: another release may round chances in another way, and must not
 * change what was spent.
 */

const RESOLUTION = 2 ** 32;

/** Errors of exp, log, pow and the sums of a cost are below these, relative and absolute; costs are rounded up. */
const RELATIVE_ERROR = 2 ** -40;
const ABSOLUTE_ERROR = 2 ** -40;

/** Reports of one response that are told apart where they are shared unevenly; with more, it costs as for ever. */
const MAX_TIMES = 64;

/** Responses whose reports are shared out as costs most; each of more is charged as for ever, in no time. */
const MAX_SHARING = 16;

/** Return the most by which a sum of so many costs is rounded up in all. */
export const mostRounding = (nats, costs) => 2 * (RELATIVE_ERROR * nats + ABSOLUTE_ERROR * costs);

export const roundedUp = (nats) => nats * (1 + RELATIVE_ERROR) + ABSOLUTE_ERROR;

/** By name, the cost of so many reports that show one permanent response, in nats, never too little. */
const COSTS = {
  /** An answer that is repeated as it is. */
  answer: ({ epsilon }) => epsilon,

  /** Bits of a one-hot code, inverted with a chance, through fresh noise; of a Bloom filter, for each of its hashes. */
  bits: ({ flip, p, q, hashes = 1 }, times) => {
    const h = flip / RESOLUTION;
    const k = 1 - h;
    const u = (p / q) ** times;
    const d = ((RESOLUTION - q) / (RESOLUTION - p)) ** times;
    return roundedUp(hashes * (Math.log((k + h * u) / (h + k * u)) + Math.log((k + h * d) / (h + k * d))));
  },

  /** One of some values, kept with a chance, through fresh noise that keeps it with another. */
  repeated: ({ size, permanent, fresh }, times) => {
    const others = size - 1;
    const p = permanent / RESOLUTION;
    const q = (RESOLUTION - permanent) / (others * RESOLUTION);
    const x = ((RESOLUTION - fresh) / (others * fresh)) ** times;
    return roundedUp(Math.log((p + others * q * x) / (q + (p + (others - 1) * q) * x)));
  },
};

/** Whether a cost is rounded up for each number of reports; that of an answer is one number. */
export const isRounded = ({ kind }) => kind !== "answer";

/** @param {{kind: string}} cost @param {number} times Infinity for ever */
export const costOfReports = (cost, times) => COSTS[cost.kind](cost, times);

export const isCost = (cost) => Object.hasOwn(COSTS, cost?.kind);

/**
 * Return the most that so many reports cost which show each of several responses at least once.
 *
 * How often each was shown is not known. To share the reports out evenly costs most where the cost of more reports of
 * one response rises ever more slowly. Where it rises faster at first, the worst sharing is found by dynamic
 * programming.
 */
export function sharedCost(cost, { responses, reports }) {
  const of = (times) => (times > 0 ? costOfReports(cost, times) : 0);
  if (responses === 0) return 0;
  if (responses < 2 || of(2) <= 2 * of(1)) {
    const times = Math.floor(reports / responses);
    const more = reports - times * responses;
    return more * of(times + 1) + (responses - more) * of(times);
  }
  if (responses > MAX_SHARING) return responses * of(Infinity);
  const most = Math.min(reports - responses + 1, MAX_TIMES + 1);
  const losses = Array.from({ length: most }, (_, i) => of(i === MAX_TIMES ? Infinity : i + 1));
  const spare = Math.min(reports - responses, responses * (most - 1));
  let best = new Float64Array(spare + 1);
  for (let response = 0; response < responses; response++) {
    const found = new Float64Array(spare + 1);
    for (let total = 0; total <= spare; total++) {
      for (let more = 0; more < most && more <= total; more++) {
        found[total] = Math.max(found[total], best[total - more] + losses[more]);
      }
    }
    best = found;
  }
  return roundedUp(best[spare]);
}
