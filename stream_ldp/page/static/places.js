// Counts of users by place, as reported within regions.
import { BANDS, INTERVALS, bars, clock, figure, lifetime, lines, shown, spread, table, whole } from "./draw.js";
import { plain } from "./plain.js";

const SHOWN = 20;
const TRACKS = 6;

const most = (counts, limit) => counts.map((_, index) => index).sort((a, b) => counts[b] - counts[a]).slice(0, limit);

function counts(answer) {
  const { places, raw, projected, standard_error: errors } = answer;
  const order = most(projected, SHOWN);
  const rows = order.map((place) => ({ name: places[place], value: projected[place], error: errors[place], text: spread(projected[place], errors[place]) }));
  const more = places.length > order.length ? `The ${order.length} places with most users, of ${whole(places.length)}. ` : "";
  return figure("Users by place", bars("Users by place", rows), { wide: true,
    note: `${more}${INTERVALS} Errors are those of the noise alone.`,
    data: table("places", ["place", "raw", "projected"], order.map((place) => [
      places[place], spread(raw[place], errors[place]), shown(projected[place], errors[place])])) });
}

export const places = {
  ...plain,

  facts: ({ regions, weights, privacy }) => [
    ["reports by region", regions.slice(0, TRACKS).map((each) => `${each.region} ${whole(each.reports.reduce((a, b) => a + b, 0))}`).join(", ") || "none"],
    ["weights", weights],
    lifetime(privacy.epsilons, privacy.assumption),
  ],

  figures(answer, tools) {
    const found = [counts(answer)];
    if (tools.past.length > 1) {
      const names = most(answer.projected, TRACKS);
      const tracks = names.map((place) => ({ name: answer.places[place], points: tools.past.map((each) => [each.window.end_ms, each.projected[place], each.standard_error[place]]) }));
      found.push(figure("Over the windows", lines("Users over the windows", tracks), { wide: true, note: BANDS,
        data: table("windows", ["window ends", ...names.map((place) => answer.places[place])], tools.past.map((each) => [clock(new Date(each.window.end_ms)),
          ...names.map((place) => spread(each.projected[place], each.standard_error[place]))])) }));
    }
    return found;
  },
};
