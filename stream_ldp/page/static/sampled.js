// Frequencies and means of attributes of which each user was asked about one.
import { band, bars, clock, epsilon, figure, lines, shown, spread, table, whole } from "./draw.js";
import { plain } from "./plain.js";

const TRACKS = 6;
const BINS = 16;

// What bars show lies between 0 and 1; the intervals are those of the raw estimates.
function frequencies(marginal) {
  const { values, raw, standard_error: errors, projected } = marginal.estimate;
  const rows = values.map((name, index) => ({ name, value: projected[index], error: errors[index] }));
  return figure(marginal.attribute, bars(marginal.attribute, rows), {
    note: `${whole(marginal.reports)} answers by ${marginal.mechanism}`,
    data: table(marginal.attribute, [marginal.attribute, "raw", "projected"],
      values.map((name, index) => [name, spread(raw[index], errors[index]), shown(projected[index], errors[index])])),
  });
}

// Neighbouring points together, with the error of their share: its ends are where the shares below them are known.
function binned({ points, probability, deviations }) {
  const size = Math.ceil(points.length / BINS);
  const bins = [];
  for (let first = 0; first < points.length; first += size) {
    const last = Math.min(first + size, points.length) - 1;
    const value = probability.slice(first, last + 1).reduce((a, b) => a + b, 0);
    const error = Math.hypot(...deviations.map((each) => (each[last] ?? 0) - (each[first - 1] ?? 0)));
    bins.push({ name: first === last ? points[first].toPrecision(3) : `${points[first].toPrecision(3)} to ${points[last].toPrecision(3)}`, value, error });
  }
  return bins;
}

function numbers(marginal) {
  const { mean, distribution, range } = marginal.estimate;
  const note = `mean ${spread(mean.raw, mean.standard_error)}, between ${range[0]} and ${range[1]}; ${whole(marginal.reports)} answers by ${marginal.mechanism}`;
  if (!distribution) {
    const rows = [{ name: "mean", value: mean.projected, error: mean.standard_error }];
    return figure(marginal.attribute, bars(marginal.attribute, rows), { note, data: table(marginal.attribute, ["", "mean"], rows.map((row) => [row.name, shown(row.value, row.error)])) });
  }
  const rows = binned(distribution);
  const marks = (marginal.estimate.quantiles ?? []).map((each) => `${each.share * 100} % are below ${shown(each.value, each.standard_error)} (${each.interval.map((end) => shown(end, each.standard_error)).join(" to ")})`);
  return figure(marginal.attribute, band(marginal.attribute, rows, range), { note: [note, ...marks].join("; "),
    data: table(marginal.attribute, ["value", "probability"], rows.map((row) => [row.name, spread(row.value, row.error)])) });
}

function outputs(marginal) {
  const { share, standard_error: errors } = marginal.estimate;
  const rows = share.map((value, number) => ({ name: `output ${number}`, value, error: errors[number] }));
  return figure(marginal.attribute, bars(marginal.attribute, rows), {
    note: `${whole(marginal.reports)} answers by ${marginal.mechanism}, from which no frequencies follow`,
    data: table(marginal.attribute, ["output", "share"], rows.map((row) => [row.name, shown(row.value, row.error)])),
  });
}

const DRAWN = { frequencies, numbers, outputs };

function drawn(marginal) {
  if (marginal.estimate === null) return figure(marginal.attribute, "Nobody has answered this question in the window.");
  return DRAWN[marginal.estimate.kind](marginal);
}

// The lines of an attribute over the windows: its most frequent values, or its mean.
function tracksOf(attribute, answer, past) {
  const of = (each) => each.attributes.find((one) => one.attribute === attribute)?.estimate;
  const now = of(answer);
  if (!now) return [];
  if (now.kind === "numbers") return [{ name: "mean", points: past.flatMap((each) => (of(each) ? [[each.window.end_ms, of(each).mean.projected]] : [])) }];
  if (now.kind === "outputs") return now.share.slice(0, TRACKS).map((_, number) => ({ name: `output ${number}`, points: past.flatMap((each) => (of(each) ? [[each.window.end_ms, of(each).share[number]]] : [])) }));
  const order = now.values.map((_, index) => index).sort((a, b) => now.projected[b] - now.projected[a]).slice(0, TRACKS);
  return order.map((value) => ({ name: now.values[value], points: past.flatMap((each) => (of(each) ? [[each.window.end_ms, of(each).projected[value]]] : [])) }));
}

export const sampled = {
  ...plain,

  facts: ({ privacy }) => [
    ["epsilon a report", epsilon(privacy.per_report)],
    ["epsilon for ever", `${epsilon(privacy.for_ever)}: ${privacy.assumption}`],
  ],

  figures(answer, tools) {
    const found = answer.attributes.map(drawn);
    if (tools.past.length > 1) {
      const names = answer.attributes.map((each) => [each.attribute, each.attribute]);
      const attribute = tools.choice("attribute", "Over the windows", names, names[0][0]);
      const tracks = tracksOf(attribute, answer, tools.past);
      if (tracks.length) {
        const times = tracks[0].points.map(([time]) => time);
        found.push(figure(`${attribute} over the windows`, lines(`${attribute} over the windows`, tracks), { wide: true,
          data: table("windows", ["window ends", ...tracks.map((track) => track.name)],
            times.map((time, index) => [clock(new Date(time)), ...tracks.map((track) => shown(track.points[index][1], 0))])) }));
      }
    }
    return found;
  },
};
