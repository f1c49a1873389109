// The most frequent strings of a window.
import { bars, clock, epsilon, figure, lines, shown, spread, table, whole } from "./draw.js";
import { plain } from "./plain.js";

const TRACKS = 6;
const CHANCE = 0.01;

// What bars show lies between 0 and 1; the intervals are those of the raw estimates.
function ranking(answer) {
  const rows = answer.strings.map((each) => ({
    name: `${each.rank}. ${each.string}`, value: each.projected, error: each.standard_error,
    text: `${spread(each.projected, each.standard_error)}${each.expected_false >= CHANCE ? " ?" : ""}`,
  }));
  return figure("Most frequent strings", bars("Most frequent strings", rows), { wide: true,
    note: "Intervals of two standard errors. A question mark: where nobody has any candidate, more than one window of a hundred shows one as frequent.",
    data: table("ranking", [answer.attribute, "raw", "projected", "by chance"], answer.strings.map((each) => [
      each.string, spread(each.raw, each.standard_error), shown(each.projected, each.standard_error), each.expected_false.toPrecision(2)])) });
}

export const strings = {
  ...plain,

  facts: ({ method, candidates, questions, privacy }) => [
    ["method", method],
    ["candidates", whole(candidates)],
    ...questions.map((each) => [`asked for ${each.asked}`, whole(each.reports)]),
    ["epsilon a report", epsilon(privacy.per_report)],
    ["epsilon for ever", `${epsilon(privacy.for_ever)}: ${privacy.assumption}`],
  ],

  figures(answer, tools) {
    if (answer.strings === null) return [figure("Ranking", "A question that the ranking takes has no answers.")];
    if (!answer.strings.length) return [figure("Ranking", "No string stands out of the noise.")];
    const found = [ranking(answer)];
    if (tools.past.length > 1) {
      const names = answer.strings.slice(0, TRACKS).map((each) => each.string);
      const of = (each, name) => each.strings?.find((one) => one.string === name);
      const tracks = names.map((name) => ({ name, points: tools.past.flatMap((each) => (of(each, name) ? [[each.window.end_ms, of(each, name).projected]] : [])) }));
      found.push(figure("Over the windows", lines("Shares over the windows", tracks), { wide: true,
        data: table("windows", ["window ends", ...names], tools.past.map((each) => [clock(new Date(each.window.end_ms)),
          ...names.map((name) => (of(each, name) ? shown(of(each, name).projected, of(each, name).standard_error) : "–"))])) }));
    }
    return found;
  },
};
