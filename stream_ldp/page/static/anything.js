// A kind of collection that this page has no drawings for: its message, field by field.
import { el, figure } from "./draw.js";
import { plain } from "./plain.js";

export const anything = {
  ...plain,
  series: (answer) => answer.series ?? answer.estimate ?? "",
  facts: () => [],
  figures: (answer) => [figure("Message", el("pre", {}, JSON.stringify(answer, null, 2)), { wide: true })],
};
