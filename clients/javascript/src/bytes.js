/** Bytes: joined, in hexadecimal, as numbers, and packed bit by bit. */

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

/** Return the UTF-8 of a text; halves of a pair of UTF-16 that stand alone become U+FFFD. */
export const utf8 = (text) => new TextEncoder().encode(text);

const written = (size, write) => {
  const view = new DataView(new ArrayBuffer(size));
  write(view);
  return new Uint8Array(view.buffer);
};

/** Return a number as bytes, little-endian. @param {number} number @returns {Uint8Array} */
export const u16 = (number) => written(2, (view) => view.setUint16(0, number, true));
export const u32 = (number) => written(4, (view) => view.setUint32(0, number, true));
export const i64 = (number) => written(8, (view) => view.setBigInt64(0, BigInt(number), true));
export const f64 = (number) => written(8, (view) => view.setFloat64(0, number, true));

/** Read bytes as words of 32 bits, little-endian. @param {Uint8Array} bytes @returns {number[]} */
export function wordsOf(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return Array.from({ length: bytes.length / 4 }, (_, i) => view.getUint32(4 * i, true));
}

/** Return the number of bits that the numbers below a count need, at least 1. @param {number} count */
export const bitsFor = (count) => Math.max(1, 32 - Math.clz32(count - 1));

/**
 * Pack numbers from bit 0 of byte 0, the least significant bit of each first.
 *
 * @param {number[]} numbers
 * @param {number[]} widths bits of each
 * @param {number} size bytes of the row
 * @returns {Uint8Array}
 */
export function packed(numbers, widths, size) {
  const row = new Uint8Array(size);
  let at = 0;
  numbers.forEach((number, i) => {
    for (let bit = 0; bit < widths[i]; bit++, at++) if ((number >>> bit) & 1) row[at >> 3] |= 1 << (at & 7);
  });
  return row;
}
