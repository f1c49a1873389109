// Heavy hitters of item sets.
import { BANDS, INTERVALS, bars, clock, epsilon, figure, lifetime, lines, spread, table } from "./draw.js";

const TRACKS = 6;
const complete = (answer) => answer.final && answer.phase === answer.phases;

function sizes(answer) {
  const shown = (each) => spread(each.frequency, each.standard_error);
  const rows = answer.sizes.map((each) => ({ name: `${each.of} items`, value: each.frequency, error: each.standard_error, text: shown(each) }));
  const slots = answer.next_phase?.set_size;
  return [figure("Sizes of sets", bars("Sizes of sets", rows), { wide: true,
    note: `${slots ? `The next phases pad sets to ${slots}. ` : ""}${INTERVALS}`,
    data: table("sizes", ["items of a set", "share of the users"], answer.sizes.map((each) => [each.of, shown(each)])) })];
}

export const sets = {
  series: () => "",
  track: (answer) => `phase ${answer.phase}`,
  label: (answer) => (complete(answer) ? ", result" : `, phase ${answer.phase}`),
  settled: (answers) => answers.filter(complete).at(-1),

  facts(answer) {
    const { privacy } = answer;
    const known = [["epoch", String(answer.epoch)], ["phase", `${answer.phase} of ${answer.phases}${complete(answer) ? ": the result" : ""}`]];
    if (answer.method) known.push(["method", answer.method]);
    known.push(["epsilon an epoch", epsilon(privacy.per_epoch)]);
    known.push(privacy.lifetime == null ? ["protects", privacy.assumption] : lifetime(privacy.lifetime, privacy.assumption));
    return known;
  },

  figures(answer, tools) {
    if (answer.about === "sizes") return sizes(answer);
    const results = tools.past.filter((each) => each !== answer);
    const before = new Map((results.at(-1)?.items ?? []).map((each, index) => [each.item, index + 1]));
    const moved = (item, rank) => {
      if (!before.size) return "";
      if (!before.has(item)) return " new";
      const by = before.get(item) - rank;
      return by === 0 ? "" : by > 0 ? ` ▲${by}` : ` ▼${-by}`;
    };
    const rows = answer.items.map((each, index) => ({
      name: `${index + 1}. ${each.item}`, value: each.frequency, error: each.standard_error,
      text: `${spread(each.frequency, each.standard_error)}${moved(each.item, index + 1)}`,
    }));
    if (!rows.length) return [figure("Ranking", "No item stands out from the noise.")];
    const found = [figure("Most frequent items", bars("Most frequent items", rows), { wide: true, note: answer.drawn
      ? "Set sizes are not known: the frequency is that among items drawn one from each set, and only the order counts."
      : `The frequency is the share of users who hold the item. ${INTERVALS}`,
      data: table("ranking", ["item", "frequency"], answer.items.map((each) => [each.item, spread(each.frequency, each.standard_error)])) })];
    if (tools.past.length > 1) {
      const names = answer.items.slice(0, TRACKS).map((each) => each.item);
      const tracks = names.map((name) => ({ name, points: tools.past.flatMap((each) => {
        const item = each.items.find((one) => one.item === name);
        return item ? [[each.window.end_ms, item.frequency, item.standard_error]] : [];
      }) }));
      found.push(figure("Over the epochs", lines("Frequencies over the epochs", tracks), { wide: true, note: BANDS,
        data: table("epochs", ["window ends", ...names], tools.past.map((each) => [clock(new Date(each.window.end_ms)), ...names.map((name) => {
          const item = each.items.find((one) => one.item === name);
          return item ? spread(item.frequency, item.standard_error) : "–";
        })])) }));
    }
    return found;
  },
};
