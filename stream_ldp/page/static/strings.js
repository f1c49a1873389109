// The most frequent strings of a window.
import { BANDS, INTERVALS, bars, clock, epsilon, figure, lifetime, lines, shown, spread, table, whole } from "./draw.js";
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
    note: `${INTERVALS} A question mark: if no user had a candidate, over 1 % of windows would still rank one.`,
    data: table("ranking", [answer.attribute, "raw", "projected", "by chance"], answer.strings.map((each) => [
      each.string, spread(each.raw, each.standard_error), shown(each.projected, each.standard_error), each.expected_false.toPrecision(2)])) });
}

export const strings = {
  ...plain,

  facts: ({ method, candidates, questions, privacy }) => [
    ["method", method],
    ["candidates", whole(candidates)],
    ...questions.map((each) => [`answers: ${each.asked}`, whole(each.reports)]),
    ["epsilon a report", epsilon(privacy.per_report)],
    lifetime(privacy.lifetime, privacy.assumption),
  ],

  figures(answer, tools) {
    if (answer.strings === null) return [figure("Ranking", "No answers to one of the questions that the ranking needs.")];
    if (!answer.strings.length) return [figure("Ranking", "No string stands out from the noise.")];
    const found = [ranking(answer)];
    if (tools.past.length > 1) {
      const names = answer.strings.slice(0, TRACKS).map((each) => each.string);
      const of = (each, name) => each.strings?.find((one) => one.string === name);
      const tracks = names.map((name) => ({ name, points: tools.past.flatMap((each) => (of(each, name) ? [[each.window.end_ms, of(each, name).projected, of(each, name).standard_error]] : [])) }));
      found.push(figure("Over the windows", lines("Shares over the windows", tracks), { wide: true, note: BANDS,
        data: table("windows", ["window ends", ...names], tools.past.map((each) => [clock(new Date(each.window.end_ms)),
          ...names.map((name) => (of(each, name) ? spread(of(each, name).projected, of(each, name).standard_error) : "–"))])) }));
    }
    return found;
  },
};
