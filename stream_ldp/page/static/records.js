// Joint distributions of records.
import { BANDS, INTERVALS, bars, clock, epsilon, figure, heatMap, lifetime, lines, shown, spread, table } from "./draw.js";
import { between } from "./between.js";
import { plain } from "./plain.js";

const MAX_ROWS = 64;
const MAX_COLUMNS = 16;
const TRACKS = 6;
const METHODS = { em: "EM", lasso: "LASSO", lremh: "LREMH", views: "views" };
const STARTS = { uniform: "the uniform distribution", pairs: "pairs of attributes", factor: "a factor model", lasso: "LASSO", previous: "the previous window" };

// All combinations of values, the last axis fastest, as the arrays of an estimate are.
function cells(axes) {
  return axes.reduce((known, axis) => known.flatMap((before) => axis.values.map((value) => [...before, value])), [[]]);
}

function product(marginals) {
  return marginals.reduce((known, marginal) => known.flatMap((before) => marginal.map((each) => before * each)), [1]);
}

// The variances of the values of some axes, ascending, from how errors go together; of all, without the effect of all.
function variancesOf({ spreads, variances }, marginals, kept) {
  return spreads.reduce((table, spread, axis) => {
    const rest = table.length / 2;
    if (!kept.includes(axis)) return table.slice(0, rest);
    return table.slice(0, rest).flatMap((one, place) => spread.map((part, value) => one * marginals[axis][value] ** 2 + table[rest + place] * part * (1 - part)));
  }, [...variances, 0]);
}

// The marginals of all axes, with their errors where the answer says how those of cells go together.
function marginalsOf({ axes, probability, effects, independence }) {
  const names = cells(axes);
  return axes.map((axis, place) => {
    const squares = effects && variancesOf(effects, independence.marginals, [place]);
    return axis.values.map((value, index) => {
      const share = probability.reduce((known, each, cell) => (names[cell][place] === value ? known + each : known), 0);
      return { name: value, value: share, error: squares ? Math.min(Math.sqrt(squares[index]), Math.max(share, 1 - share)) : undefined };
    });
  });
}

// The errors of a product of marginals, to the first order: the errors of different attributes are independent.
function productErrors(marginals, errors) {
  return marginals.map((_, place) => product(marginals.map((marginal, axis) => (axis === place ? errors[place] : marginal))))
    .reduce((known, each) => known.map((before, index) => Math.hypot(before, each[index])));
}

// The joint as rows by columns: the columns are one axis, the rows all others together.
function grid(axes, values, errors, across) {
  const names = cells(axes);
  const columns = axes[across].values;
  const rows = new Map();
  names.forEach((name, index) => {
    const others = name.filter((_, axis) => axis !== across).join(", ");
    if (!rows.has(others)) rows.set(others, { name: others, values: [], errors: [] });
    rows.get(others).values.push(values[index]);
    rows.get(others).errors.push(errors?.[index]);
  });
  return { columns, rows: [...rows.values()] };
}

function map(title, found, options = {}) {
  const sums = found.rows.map((row) => row.values.reduce((a, b) => a + b, 0));
  const order = found.rows.map((_, index) => index);
  const many = order.length > MAX_ROWS;
  if (many) order.sort((a, b) => sums[b] - sums[a]).splice(MAX_ROWS);
  const rows = order.map((index) => found.rows[index]);
  const drawing = heatMap(title, rows.map((row) => row.name), found.columns, (i, j) => rows[i].values[j],
    (i, j) => (rows[i].errors[j] === undefined ? [shown(rows[i].values[j], 0)] : [shown(rows[i].values[j], rows[i].errors[j]), `± ${shown(rows[i].errors[j], rows[i].errors[j])}`]));
  const data = table(title, ["", ...found.columns], rows.map((row) => [row.name, ...row.values.map((value, j) => spread(value, row.errors[j]))]));
  return figure(title, drawing, { ...options, data, note: [options.note, many ? `The ${MAX_ROWS} most frequent of ${found.rows.length} rows.` : ""].filter(Boolean).join(" ") });
}

function conditional({ axes, probability, standard_error: errors, effects, independence }, across) {
  const kept = axes.map((_, axis) => axis);
  const lower = effects && variancesOf(effects, independence.marginals, kept);
  const found = grid(axes, probability, lower && errors.map((error, cell) => Math.max(error ** 2, lower[cell])), across);
  const wholes = effects && variancesOf(effects, independence.marginals, kept.filter((axis) => axis !== across));
  const shares = independence.marginals[across];
  return { columns: found.columns, rows: found.rows.map((row, place) => {
    const sum = row.values.reduce((a, b) => a + b, 0);
    const values = row.values.map((value) => (sum > 0 ? value / sum : 0));
    // p(a | b) = p(a, b) / p(b), to the first order; the effects that p(b) has are in p(a, b) as the share of a.
    const square = (value, j) => Math.max(0, row.errors[j] + (value - 2 * shares[j]) * value * wholes[place]);
    return { name: row.name, values, errors: values.map((value, j) => (sum > 0 && effects ? Math.min(Math.sqrt(square(value, j)) / sum, Math.max(value, 1 - value)) : undefined)) };
  }) };
}

export const records = {
  ...plain,
  series: (answer) => answer.estimate,

  facts(answer) {
    const { fit, independence, privacy, plausibility } = answer;
    const known = [["method", `${METHODS[fit.method] ?? fit.method}, starting from ${STARTS[fit.start] ?? fit.start}`]];
    if (answer.effective_reports !== answer.reports) known.push(["worth", `${Math.round(answer.effective_reports).toLocaleString("en")} reports`]);
    if (answer.linked) {
      const { users, reports, returning } = answer.linked;
      const share = returning === null ? "" : `, of whom ${Math.round(100 * returning)} % reported in the previous window`;
      known.push(["linked", `${reports.toLocaleString("en")} reports of the period, of ${users.toLocaleString("en")} users${share}`]);
      known.push(["linking reveals", answer.linked.privacy]);
    }
    if (answer.axes.length > 1) known.push(["independence", independence.dependent ? `rejected, p ${sampled(independence.p_value)}` : `not rejected, p ${sampled(independence.p_value)}`]);
    known.push(["epsilon a report", epsilon(privacy.per_report)], lifetime(privacy.lifetime, privacy.assumption));
    if (plausibility && plausibility.p_value !== null && plausibility.degrees_of_freedom > 0) known.push(["plausibility", `p ${below(plausibility.p_value)}`]);
    return known;
  },

  figures(answer, tools) {
    const { axes, independence } = answer;
    const [joint, errors] = [answer.probability, answer.standard_error];
    const found = [];
    if (axes.length === 1) {
      const rows = axes[0].values.map((name, index) => ({ name, value: joint[index], error: errors[index] }));
      found.push(figure(axes[0].attribute, bars(axes[0].attribute, rows), { note: INTERVALS, data: table("joint", [axes[0].attribute, "probability"], rows.map((row) => [row.name, spread(row.value, row.error)])) }));
    } else {
      const fits = axes.findLastIndex((axis) => axis.values.length <= MAX_COLUMNS);
      const across = Number(tools.choice("across", "Columns", axes.map((axis, index) => [String(index), axis.attribute]), String(fits < 0 ? axes.length - 1 : fits)));
      const marginals = marginalsOf(answer);
      const whole = grid(axes, joint, errors, across);
      const others = axes.filter((_, index) => index !== across).map((axis) => axis.attribute).join(", ");
      found.push(map("Joint distribution", whole, { note: `${others} by ${axes[across].attribute}; ± is the standard error.` }));
      if (!independence.dependent) {
        found.push(map("Product of the marginals", grid(axes, product(independence.marginals), answer.effects && productErrors(independence.marginals, marginals.map((each) => each.map(({ error }) => error))), across), { note: "Independence is not rejected: prefer this to the joint." }));
      }
      found.push(map(`Conditional: ${axes[across].attribute}, given ${others}`, conditional(answer, across), { note: "Each row sums to 1." }));
      axes.forEach((axis, index) => {
        const rows = marginals[index];
        found.push(figure(`Marginal: ${axis.attribute}`, bars(axis.attribute, rows), { note: INTERVALS, data: table(`marginal ${axis.attribute}`, [axis.attribute, "probability"], rows.map((row) => [row.name, spread(row.value, row.error)])) }));
      });
    }
    if (tools.past.length > 1) {
      const names = cells(axes).map((name) => name.join(", "));
      const order = joint.map((_, index) => index).sort((a, b) => joint[b] - joint[a]).slice(0, TRACKS);
      const past = tools.past.map((each) => [each.window.end_ms, each.probability, each.standard_error]).filter(([, values]) => values.length === joint.length);
      const tracks = order.map((cell) => ({ name: names[cell], points: past.map(([time, values, spreads]) => [time, values[cell], spreads[cell]]) }));
      found.push(figure("Over the windows", lines("Most frequent cells over the windows", tracks), { wide: true, note: BANDS,
        data: table("windows", ["window ends", ...tracks.map((track) => track.name)], past.map(([time, values, spreads]) => [clock(new Date(time)), ...order.map((cell) => spread(values[cell], spreads[cell]))])) }));
    }
    return [...found, ...between(answer, (answer.numbers ?? []).map(({ attribute, cells: bounds }) => ({ attribute, range: [bounds[0], bounds.at(-1)] })))];
  },
};

// The test of independence takes 999 samples, so it can say no less than 0.001.
function sampled(value) {
  return value <= 0.001 ? "at most 0.001" : below(value);
}

// Probabilities of a test: below some bound, their digits say nothing.
function below(value) {
  return value < 0.0001 ? "< 0.0001" : `= ${value.toPrecision(2)}`;
}
