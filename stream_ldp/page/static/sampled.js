// Frequencies and means of attributes of which each user was asked about one.
import { BANDS, INTERVALS, band, bars, clock, el, epsilon, figure, lifetime, lines, ranges, shown, spread, table, whole } from "./draw.js";
import { between } from "./between.js";
import { plain } from "./plain.js";

const TRACKS = 6;
const BINS = 16;

const answers = (marginal) => `${whole(marginal.reports)} answers by ${marginal.mechanism}`;

// What bars show lies between 0 and 1; the intervals are those of the raw estimates.
function frequencies(marginal) {
  const { values, raw, standard_error: errors, projected } = marginal.estimate;
  const rows = values.map((name, index) => ({ name, value: projected[index], error: errors[index] }));
  return figure(marginal.attribute, bars(marginal.attribute, rows), {
    note: `${answers(marginal)}. ${INTERVALS}`,
    data: table(marginal.attribute, [marginal.attribute, "raw", "projected"],
      values.map((name, index) => [name, spread(raw[index], errors[index]), shown(projected[index], errors[index])])),
  });
}

// Neighbouring points together, with the error of their share: its ends are where the shares below them are known.
// Of whole steps, each bin has as many but the last, or some would have twice the users of others for no other reason.
function binned({ points, probability, deviations, exact = [] }, [least, largest]) {
  const stepped = exact.length > 0 && exact.every(Boolean);
  const most = Math.ceil(points.length / BINS);
  const bin = (index) => (stepped ? Math.floor(index / most) : Math.min(Math.floor(((points[index] - least) / (largest - least)) * BINS), BINS - 1));
  const name = (number) => (stepped ? `${Number(number.toPrecision(6))}` : number.toPrecision(3));
  const bins = [];
  for (let first = 0, last; first < points.length; first = last + 1) {
    last = first;
    while (last + 1 < points.length && bin(last + 1) === bin(first)) last += 1;
    const value = probability.slice(first, last + 1).reduce((a, b) => a + b, 0);
    const error = Math.hypot(...deviations.map((each) => (each[last] ?? 0) - (each[first - 1] ?? 0)));
    bins.push({ name: first === last ? name(points[first]) : `${name(points[first])} to ${name(points[last])}`, value, error, width: stepped ? last + 1 - first : 1 });
  }
  return bins;
}

// The mean and the quantiles as points within the range, below the distribution where the answers show one.
function numbers(marginal) {
  const { mean, distribution, range, quantiles = [] } = marginal.estimate;
  const points = [
    { name: "mean", value: mean.projected, error: mean.standard_error, range },
    ...quantiles.map(({ share, value, standard_error: error, interval }) => ({ name: `${Number((share * 100).toPrecision(6))} % quantile`, value, error, interval, range,
      text: `${shown(value, error)} (${interval.map((end) => shown(end, error)).join(" to ")})` })),
  ];
  const summary = ranges(`${marginal.attribute}, mean and quantiles`, points);
  const bins = distribution ? binned(distribution, range) : [];
  const rows = [
    ["mean", spread(mean.raw, mean.standard_error)],
    ...points.slice(1).map((each) => [each.name, each.text]),
    ...bins.map((each) => [each.name, spread(each.value, each.error)]),
  ];
  return figure(marginal.attribute, distribution ? el("div", {}, band(marginal.attribute, bins, range), summary) : summary, {
    note: `${answers(marginal)}, between ${range[0]} and ${range[1]}. ${distribution ? "Steps are shares of users in parts of the range. " : ""}${INTERVALS}`, data: table(marginal.attribute, ["", "estimate"], rows) });
}

function outputs(marginal) {
  const { share, standard_error: errors } = marginal.estimate;
  const rows = share.map((value, number) => ({ name: `output ${number}`, value, error: errors[number] }));
  return figure(marginal.attribute, bars(marginal.attribute, rows), {
    note: `${answers(marginal)}, from which no frequencies follow. ${INTERVALS}`,
    data: table(marginal.attribute, ["output", "share"], rows.map((row) => [row.name, spread(row.value, row.error)])),
  });
}

const DRAWN = { frequencies, numbers, outputs };

function drawn(marginal) {
  if (marginal.estimate === null) return figure(marginal.attribute, "No answers to this question in the window.");
  return DRAWN[marginal.estimate.kind](marginal);
}

// The lines of an attribute over the windows: its most frequent values, or its mean. An estimate may have other values
// in other windows.
function tracksOf(attribute, answer, past) {
  const of = (each) => each.attributes.find((one) => one.attribute === attribute)?.estimate;
  const now = of(answer);
  if (!now) return [];
  const track = (name, point) => ({ name, points: past.flatMap((each) => (of(each)?.kind === now.kind ? [[each.window.end_ms, ...point(of(each))]] : [])) });
  if (now.kind === "numbers") return [track("mean", ({ mean }) => [mean.projected, mean.standard_error])];
  const shares = now.kind === "outputs" ? now.share : now.projected;
  const order = shares.map((_, index) => index).sort((a, b) => (now.kind === "outputs" ? a - b : shares[b] - shares[a])).slice(0, TRACKS);
  return order.map((index) => (now.kind === "outputs" ? track(`output ${index}`, (each) => [each.share[index], each.standard_error[index]])
    : track(now.values[index], (each) => [each.projected[index], each.standard_error[index]])));
}

export const sampled = {
  ...plain,

  facts: ({ privacy }) => [
    ["epsilon a report", epsilon(privacy.per_report)],
    lifetime(privacy.lifetime, privacy.assumption),
  ],

  figures(answer, tools) {
    const found = answer.attributes.map(drawn);
    if (tools.past.length > 1) {
      const names = answer.attributes.map((each) => [each.attribute, each.attribute]);
      const attribute = tools.choice("attribute", "Over the windows", names, names[0][0]);
      const tracks = tracksOf(attribute, answer, tools.past);
      if (tracks.length) {
        const times = tracks[0].points.map(([time]) => time);
        found.push(figure(`${attribute} over the windows`, lines(`${attribute} over the windows`, tracks), { wide: true, note: BANDS,
          data: table("windows", ["window ends", ...tracks.map((track) => track.name)],
            times.map((time, index) => [clock(new Date(time)), ...tracks.map((track) => spread(track.points[index][1], track.points[index][2]))])) }));
      }
    }
    const numbers = answer.attributes.filter(({ estimate }) => estimate?.distribution);
    return [...found, ...between(answer, numbers.map(({ attribute, estimate }) => ({ attribute, range: estimate.range })))];
  },
};
