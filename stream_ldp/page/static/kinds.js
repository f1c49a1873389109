// How the answers of each kind of collection are shown: a line a kind, by its name.
export { pairs } from "./pairs.js";
export { places } from "./places.js";
export { records } from "./records.js";
export { sampled } from "./sampled.js";
export { sets } from "./sets.js";
export { strings } from "./strings.js";
export { records as views } from "./records.js"; // which publish the estimates of collections of records
