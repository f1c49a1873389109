/** Bytes: joined, in hexadecimal, digested, and drawn. */

/** Most bytes that `getRandomValues` gives at once. */
const MAX_DRAWN = 65_536;

/** @param {...Uint8Array} parts @returns {Uint8Array} */
export function joined(...parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** @param {Uint8Array} bytes @returns {string} */
export const toHex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** @param {string} text @returns {Uint8Array} */
export const fromHex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));

/** Return a number as 4 bytes, little-endian. @param {number} number @returns {Uint8Array} */
export function u32(number) {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, number, true);
  return bytes;
}

/** Return a whole number as 8 bytes, little-endian. @param {number} number @returns {Uint8Array} */
export function i64(number) {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigInt64(0, BigInt(number), true);
  return bytes;
}

/** Read bytes as words of 32 bits, little-endian. @param {Uint8Array} bytes @returns {number[]} */
export function wordsOf(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return Array.from({ length: bytes.length / 4 }, (_, i) => view.getUint32(4 * i, true));
}

/** Return the SHA-256 of plain data as canonical JSON (docs/wire.md, section 5). @returns {Promise<Uint8Array>} */
export async function digestOf(data) {
  if (globalThis.crypto?.subtle === undefined) {
    throw new Error("WebCrypto is missing: a page has it if it comes over HTTPS, or from localhost");
  }
  // Names hold no control characters, and there JSON.stringify escapes what canonical JSON does, and no more.
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(JSON.stringify(data))));
}

/** Draw bytes from the operating system's generator. @param {number} count @returns {Uint8Array} */
export function randomBytes(count) {
  if (typeof globalThis.crypto?.getRandomValues !== "function") {
    throw new Error("crypto.getRandomValues is missing: without the operating system's randomness there is no noise");
  }
  const bytes = new Uint8Array(count);
  for (let at = 0; at < count; at += MAX_DRAWN) crypto.getRandomValues(bytes.subarray(at, at + MAX_DRAWN));
  return bytes;
}

/** Draw uniform words of 32 bits from the operating system's generator. @param {number} count @returns {number[]} */
export const randomWords = (count) => wordsOf(randomBytes(4 * count));
