/** The kinds of collections: the one table of them. A new kind is a module that exports a `Kind`, and entries here. */

import { CollectionError } from "./errors.js";

const records = () => import("./kinds/records.js");
const sets = () => import("./kinds/sets.js");

/** Module of each mechanism's kind, loaded when its first collection is opened. */
const MODULES = {
  "rr-ldp": records,
  "k-rr": records,
  "k-subset": records,
  "hashed-k-rr": records,
  gfim: sets,
  "gfim-users": sets,
  ldpminer: sets,
  svim: sets,
  loloha: sets,
  sampled: () => import("./kinds/sampled.js"),
  strings: () => import("./kinds/strings.js"),
  places: () => import("./kinds/places.js"),
  pairs: () => import("./kinds/pairs.js"),
};

/** Names of the mechanisms that are spoken. */
export const MECHANISMS = Object.keys(MODULES);

/** Load the module of a document's kind. @throws {CollectionError} there is none */
export async function moduleOf(document) {
  const mechanism = document?.mechanism ?? undefined;
  const kind = mechanism?.kind ?? (document?.items ? "gfim" : undefined);
  if (typeof mechanism !== "object" || typeof kind !== "string" || !Object.hasOwn(MODULES, kind)) {
    const named = typeof kind === "string" ? `"${kind}"` : "one without a name";
    throw new CollectionError(`a collection has a mechanism, one of ${MECHANISMS.join(", ")}; this is ${named}`);
  }
  return MODULES[kind]();
}
