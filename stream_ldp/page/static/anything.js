// A kind of collection that this page has no drawings for: its message, field by field.
import { el, figure } from "./draw.js";

export const anything = {
  series: (answer) => answer.series ?? answer.estimate ?? "",
  track: () => "",
  label: () => "",
  settled: (answers) => answers.filter((each) => each.final).at(-1),
  facts: () => [],
  figures: (answer) => [figure("Message", el("pre", {}, JSON.stringify(answer, null, 2)), { wide: true })],
};
