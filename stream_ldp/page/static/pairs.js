// Key-value data: how many users hold each key, and the mean of its numbers.
import { BANDS, INTERVALS, bars, clock, figure, lifetime, lines, ranges, shown, spread, table, whole } from "./draw.js";
import { plain } from "./plain.js";

const SHOWN = 20;
const TRACKS = 6;

const most = (keys, limit) => [...keys].sort((a, b) => b.projected - a.projected).slice(0, limit);

function frequencies(answer) {
  const keys = most(answer.keys, SHOWN);
  return figure("Users who hold a key", bars("Users who hold a key", keys.map((each) => ({ name: each.key, value: each.projected, error: each.standard_error }))), {
    note: `${whole(answer.reports)} answers; users with more than ${answer.padding} keys count for less. ${INTERVALS}`,
    data: table("keys", ["key", "raw", "projected"], keys.map((each) => [each.key, spread(each.raw, each.standard_error), shown(each.projected, each.standard_error)])) });
}

function means(answer) {
  const keys = most(answer.keys, SHOWN).filter((each) => each.mean);
  if (!keys.length) return figure("Means", "No key stands out from the noise, so none has a mean.");
  const text = ({ mean }) => spread(mean.projected, mean.standard_error);
  const rows = keys.map((each) => ({ name: each.key, value: each.mean.projected, error: each.mean.standard_error, range: each.range, text: `${text(each)} of ${each.range.join(" to ")}` }));
  const without = answer.keys.filter((each) => !each.mean).map((each) => each.key);
  return figure("Means of their numbers", ranges("Means of their numbers", rows), {
    note: `Each within the range of its key. ${INTERVALS}${without.length ? ` Without a mean, since no user may hold them: ${without.join(", ")}.` : ""}`,
    data: table("means", ["key", "raw", "projected"], keys.map((each) => [each.key, spread(each.mean.raw, each.mean.standard_error), shown(each.mean.projected, each.mean.standard_error)])) });
}

export const pairs = {
  ...plain,

  facts: ({ privacy }) => [lifetime(privacy.epsilon, privacy.assumption)],

  figures(answer, tools) {
    if (!answer.keys.length) return [figure("Keys", answer.withheld ? "Withheld: fewer answers than min_reports." : "No answers in this window.")];
    const found = [frequencies(answer), means(answer)];
    if (tools.past.length > 1) {
      const of = (each, key) => each.keys.find((one) => one.key === key);
      const tracks = most(answer.keys, TRACKS).map(({ key }) => ({ name: key,
        points: tools.past.flatMap((each) => (of(each, key) ? [[each.window.end_ms, of(each, key).projected, of(each, key).standard_error]] : [])) }));
      found.push(figure("Over the windows", lines("Users over the windows", tracks), { wide: true, note: BANDS,
        data: table("windows", ["window ends", ...tracks.map((track) => track.name)], tools.past.map((each) => [clock(new Date(each.window.end_ms)),
          ...tracks.map((track) => (of(each, track.name) ? spread(of(each, track.name).projected, of(each, track.name).standard_error) : "–"))])) }));
    }
    return found;
  },
};
