/**
 * Print what a page loads for each kind of collections, gzipped: node sizes.js
 *
 * "Sources" is every module by itself, comments included, as a server sends them. "Built" is without comments and
 * indents, in two files, one of what all kinds load and one of the kind, as any build makes them; a minifier makes less.
 */

import { readFileSync, readdirSync } from "node:fs";
import { gzipSync } from "node:zlib";

const SOURCES = new URL("src/", import.meta.url);

/** List a module and all that it imports when it is loaded. @returns {string[]} addresses */
export function loaded(name, found = new Set()) {
  const url = new URL(name, SOURCES);
  if (found.has(url.href)) return found;
  found.add(url.href);
  const text = readFileSync(url, "utf8");
  for (const [, path] of text.matchAll(/^(?:import|export)\s[^;]*?from "(\.[^"]+)";/gms))
    loaded(new URL(path, url), found);
  return found;
}

/** Leave out comments and indents. */
export const bare = (text) =>
  text
    .replace(/\/\*\*.*?\*\//gs, "")
    .replace(/^\s*\/\/.*$/gm, "")
    .replace(/^\s+/gm, "");

const gzipped = (texts) => texts.reduce((sum, text) => sum + gzipSync(text, { level: 9 }).length, 0);

const textsOf = (urls) => [...urls].map((url) => readFileSync(new URL(url), "utf8"));

/** Return the bytes that each kind loads. */
export function sizes() {
  const common = loaded("index.js");
  return readdirSync(new URL("kinds/", SOURCES)).map((file) => {
    const own = [...loaded(`kinds/${file}`)].filter((url) => !common.has(url));
    const built = [common, own].map((urls) => bare(textsOf(urls).join("")));
    return {
      kind: file.replace(".js", ""),
      sources: gzipped(textsOf([...common, ...own])),
      built: gzipped(built),
    };
  });
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  console.log("| kind | built, kB | sources, kB |\n|---|---:|---:|");
  for (const { kind, sources, built } of sizes()) {
    console.log(`| ${kind} | ${(built / 1000).toFixed(1)} | ${(sources / 1000).toFixed(1)} |`);
  }
}
