// Key-value data: how many users hold each key, and the mean of its numbers.
import { bars, clock, epsilon, figure, lines, shown, spread, table, whole } from "./draw.js";
import { plain } from "./plain.js";

const SHOWN = 20;
const TRACKS = 6;

const most = (keys, limit) => [...keys].sort((a, b) => b.projected - a.projected).slice(0, limit);

function frequencies(answer) {
  const keys = most(answer.keys, SHOWN);
  return figure("Users who hold a key", bars("Users who hold a key", keys.map((each) => ({ name: each.key, value: each.projected, error: each.standard_error }))), {
    note: `${whole(answer.reports)} answers; users with more than ${answer.padding} keys count for less`,
    data: table("keys", ["key", "raw", "projected"], keys.map((each) => [each.key, spread(each.raw, each.standard_error), shown(each.projected, each.standard_error)])) });
}

function means(answer) {
  const keys = most(answer.keys, SHOWN).filter((each) => each.mean);
  if (!keys.length) return figure("Means", "No key stands out from 0, so none has a mean.");
  return figure("Means of their numbers", bars("Means of their numbers", keys.map((each) => ({
    name: each.key, value: (each.mean.projected - each.range[0]) / (each.range[1] - each.range[0]), error: each.mean.standard_error / (each.range[1] - each.range[0]),
    text: spread(each.mean.raw, each.mean.standard_error) }))), { note: "As parts of the range of each key.",
    data: table("means", ["key", "mean"], keys.map((each) => [each.key, spread(each.mean.raw, each.mean.standard_error)])) });
}

export const pairs = {
  ...plain,

  facts: ({ privacy }) => [["epsilon for ever", `${epsilon(privacy.epsilon)}: ${privacy.assumption}`]],

  figures(answer, tools) {
    if (!answer.keys.length) return [figure("Keys", answer.withheld ? "Too few users have answered: their numbers are withheld." : "Nobody has answered in the window.")];
    const found = [frequencies(answer), means(answer)];
    if (tools.past.length > 1) {
      const of = (each, key) => each.keys.find((one) => one.key === key);
      const tracks = most(answer.keys, TRACKS).map(({ key }) => ({ name: key,
        points: tools.past.flatMap((each) => (of(each, key) ? [[each.window.end_ms, of(each, key).projected]] : [])) }));
      found.push(figure("Over the windows", lines("Users over the windows", tracks), { wide: true,
        data: table("windows", ["window ends", ...tracks.map((track) => track.name)], tools.past.map((each) => [clock(new Date(each.window.end_ms)),
          ...tracks.map((track) => (of(each, track.name) ? shown(of(each, track.name).projected, of(each, track.name).standard_error) : ""))])) }));
    }
    return found;
  },
};
