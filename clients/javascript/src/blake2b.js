/** BLAKE2b with a key and a person (RFC 7693; Aumasson, Neves, Wilcox-O'Hearn and Winnerlein, 2013, section 2.8). */

const MASK = (1n << 64n) - 1n;
const BLOCK_BYTES = 128;

const IV = [
  0x6a09e667f3bcc908n, 0xbb67ae8584caa73bn, 0x3c6ef372fe94f82bn, 0xa54ff53a5f1d36f1n,
  0x510e527fade682d1n, 0x9b05688c2b3e6c1fn, 0x1f83d9abfb41bd6bn, 0x5be0cd19137e2179n,
];

const SIGMA = [
  [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
  [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
  [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
  [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
  [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
  [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
  [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
  [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
  [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
  [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
];

/** Places of the working vector that each of the eight mixings of a round takes. */
const MIXINGS = [
  [0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15],
  [0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14],
];

const rotated = (word, bits) => ((word >> bits) | (word << (64n - bits))) & MASK;

function mix(v, [a, b, c, d], x, y) {
  v[a] = (v[a] + v[b] + x) & MASK;
  v[d] = rotated(v[d] ^ v[a], 32n);
  v[c] = (v[c] + v[d]) & MASK;
  v[b] = rotated(v[b] ^ v[c], 24n);
  v[a] = (v[a] + v[b] + y) & MASK;
  v[d] = rotated(v[d] ^ v[a], 16n);
  v[c] = (v[c] + v[d]) & MASK;
  v[b] = rotated(v[b] ^ v[c], 63n);
}

function compress(h, block, bytesSoFar, isLast) {
  const words = new DataView(block.buffer, block.byteOffset, BLOCK_BYTES);
  const m = Array.from({ length: 16 }, (_, i) => words.getBigUint64(8 * i, true));
  const v = [...h, ...IV];
  v[12] ^= BigInt(bytesSoFar);
  if (isLast) v[14] ^= MASK;
  for (let round = 0; round < 12; round++) {
    const order = SIGMA[round % 10];
    MIXINGS.forEach((places, i) => mix(v, places, m[order[2 * i]], m[order[2 * i + 1]]));
  }
  for (let i = 0; i < 8; i++) h[i] ^= v[i] ^ v[i + 8];
}

/**
 * Return a digest.
 *
 * @param {Uint8Array} data
 * @param {object} parameters
 * @param {number} parameters.length bytes of the digest, 1 to 64
 * @param {Uint8Array} [parameters.key] at most 64 bytes
 * @param {string} [parameters.person] 16 ASCII characters
 * @returns {Uint8Array}
 */
export function blake2b(data, { length, key = new Uint8Array(0), person = "\0".repeat(16) }) {
  const parameters = new Uint8Array(64);
  parameters.set([length, key.length, 1, 1]);
  parameters.set(new TextEncoder().encode(person), 48);
  const view = new DataView(parameters.buffer);
  const h = IV.map((word, i) => word ^ view.getBigUint64(8 * i, true));

  const keyBytes = key.length > 0 ? BLOCK_BYTES : 0;
  const size = keyBytes + data.length;
  const blocks = Math.max(1, Math.ceil(size / BLOCK_BYTES));
  const padded = new Uint8Array(blocks * BLOCK_BYTES);
  padded.set(key);
  padded.set(data, keyBytes);
  for (let i = 0; i < blocks; i++) {
    const end = (i + 1) * BLOCK_BYTES;
    compress(h, padded.subarray(end - BLOCK_BYTES, end), Math.min(end, size), i === blocks - 1);
  }

  const digest = new DataView(new ArrayBuffer(64));
  h.forEach((word, i) => digest.setBigUint64(8 * i, word, true));
  return new Uint8Array(digest.buffer, 0, length);
}
