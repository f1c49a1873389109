/** Batches: the bytes that the gateway takes (docs/wire.md, section 6). */

import { fromHex } from "./bytes.js";
import { freshWords, uniform } from "./words.js";

export const HEADER_BYTES = 56;
/** Bytes of the largest batch that a gateway takes: a record of Kafka's default limit, less its frame. */
export const MAX_BYTES = 2 ** 20 - 1024;

const MAGIC = fromHex("534c4450");
const VERSION = 1;

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** Return the CRC-32 of zlib and IEEE 802.3. @param {Uint8Array} bytes @returns {number} */
export function crc32(bytes) {
  let value = 0xffffffff;
  for (const byte of bytes) value = CRC_TABLE[(value ^ byte) & 0xff] ^ (value >>> 8);
  return (value ^ 0xffffffff) >>> 0;
}

/**
 * Encode a batch.
 *
 * @param {object} batch
 * @param {Uint8Array} batch.fingerprint 16 bytes
 * @param {Uint8Array} batch.batchId 16 random bytes, new for each batch
 * @param {number} batch.timeMs event time, milliseconds since 1970-01-01 UTC
 * @param {Uint8Array[]} batch.rows at least one, all of one width
 * @returns {Uint8Array}
 */
export function encodeBatch({ fingerprint, batchId, timeMs, rows }) {
  const width = rows[0].length;
  const bytes = new Uint8Array(HEADER_BYTES + width * rows.length);
  const view = new DataView(bytes.buffer);
  bytes.set(MAGIC);
  view.setUint8(8, VERSION);
  view.setUint16(10, width, true);
  view.setUint32(12, rows.length, true);
  bytes.set(fingerprint, 16);
  bytes.set(batchId, 32);
  view.setBigInt64(48, BigInt(timeMs), true);
  rows.forEach((row, i) => bytes.set(row, HEADER_BYTES + width * i));
  view.setUint32(4, crc32(bytes.subarray(8)), true);
  return bytes;
}

/**
 * Return the same rows in random order (Fisher and Yates), so that a row's place does not show when its user reported.
 *
 * @template T
 * @param {T[]} rows
 * @returns {T[]}
 */
export function shuffled(rows) {
  const order = [...rows];
  const words = freshWords();
  for (let last = order.length - 1; last > 0; last--) {
    const other = uniform(words, last + 1);
    [order[last], order[other]] = [order[other], order[last]];
  }
  return order;
}
