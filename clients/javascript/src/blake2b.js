/** BLAKE2b with a key and a person (RFC 7693; Aumasson, Neves, Wilcox-O'Hearn and Winnerlein, 2013, section 2.8). */

const BLOCK_BYTES = 128;
const WORD = 2 ** 32;

/** Words of 64 bits stand as two of 32, the low one first: BigInt takes fifty times as long. */
const IV = Uint32Array.of(
  0xf3bcc908,
  0x6a09e667,
  0x84caa73b,
  0xbb67ae85,
  0xfe94f82b,
  0x3c6ef372,
  0x5f1d36f1,
  0xa54ff53a,
  0xade682d1,
  0x510e527f,
  0x2b3e6c1f,
  0x9b05688c,
  0xfb41bd6b,
  0x1f83d9ab,
  0x137e2179,
  0x5be0cd19,
);

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
].map((order) => order.map((place) => 2 * place));

const v = new Uint32Array(32);
const m = new Uint32Array(32);

/** v[a] += v[b] + (low, high). */
function add(a, b, low, high) {
  const sum = v[a] + v[b] + low;
  v[a + 1] = v[a + 1] + v[b + 1] + high + Math.floor(sum / WORD);
  v[a] = sum;
}

/** Mix four words of the working vector, given by the places of their low halves, with two of the block. */
function mix(a, b, c, d, x, y) {
  add(a, b, m[x], m[x + 1]);
  let low = v[d] ^ v[a];
  let high = v[d + 1] ^ v[a + 1];
  v[d] = high;
  v[d + 1] = low;
  add(c, d, 0, 0);
  low = v[b] ^ v[c];
  high = v[b + 1] ^ v[c + 1];
  v[b] = (low >>> 24) | (high << 8);
  v[b + 1] = (high >>> 24) | (low << 8);
  add(a, b, m[y], m[y + 1]);
  low = v[d] ^ v[a];
  high = v[d + 1] ^ v[a + 1];
  v[d] = (low >>> 16) | (high << 16);
  v[d + 1] = (high >>> 16) | (low << 16);
  add(c, d, 0, 0);
  low = v[b] ^ v[c];
  high = v[b + 1] ^ v[c + 1];
  v[b] = (high >>> 31) | (low << 1);
  v[b + 1] = (low >>> 31) | (high << 1);
}

function compress(h, block, bytesSoFar, isEnd) {
  for (let i = 0; i < 32; i++) m[i] = block.getUint32(4 * i, true);
  v.set(h);
  v.set(IV, 16);
  v[24] ^= bytesSoFar;
  if (isEnd) {
    v[28] = ~v[28];
    v[29] = ~v[29];
  }
  for (let round = 0; round < 12; round++) {
    const s = SIGMA[round % 10];
    mix(0, 8, 16, 24, s[0], s[1]);
    mix(2, 10, 18, 26, s[2], s[3]);
    mix(4, 12, 20, 28, s[4], s[5]);
    mix(6, 14, 22, 30, s[6], s[7]);
    mix(0, 10, 20, 30, s[8], s[9]);
    mix(2, 12, 22, 24, s[10], s[11]);
    mix(4, 14, 16, 26, s[12], s[13]);
    mix(6, 8, 18, 28, s[14], s[15]);
  }
  for (let i = 0; i < 16; i++) h[i] ^= v[i] ^ v[i + 16];
}

/** The state after the block of the last key: a user's words come of many digests with one key. */
const last = { key: new Uint8Array(0), person: "", length: 0, h: IV };

const isLast = (key, person, length) =>
  last.length === length &&
  last.person === person &&
  last.key.length === key.length &&
  last.key.every((byte, i) => byte === key[i]);

/** Return the state that a key makes, as a block of its own. */
function keyed(h, key, person, length) {
  if (!isLast(key, person, length)) {
    const padded = new Uint8Array(BLOCK_BYTES);
    padded.set(key);
    compress(h, new DataView(padded.buffer), BLOCK_BYTES, false);
    Object.assign(last, { key: key.slice(), person, length, h: h.slice() });
  }
  return last.h.slice();
}

/**
 * Return a digest.
 *
 * @param {Uint8Array} data shorter than 2^32 bytes
 * @param {object} parameters
 * @param {number} parameters.length bytes of the digest, 1 to 64
 * @param {Uint8Array} [parameters.key] at most 64 bytes
 * @param {string} [parameters.person] 16 ASCII characters
 * @returns {Uint8Array}
 */
export function blake2b(data, { length, key = new Uint8Array(0), person = "\0".repeat(16) }) {
  const parameters = new Uint8Array(64);
  parameters.set([length, key.length, 1, 1]);
  for (let i = 0; i < 16; i++) parameters[48 + i] = person.charCodeAt(i);
  const given = new DataView(parameters.buffer);
  let h = IV.map((word, i) => word ^ given.getUint32(4 * i, true));

  const keyBytes = key.length > 0 ? BLOCK_BYTES : 0;
  const size = keyBytes + data.length;
  const blocks = Math.max(1, Math.ceil(size / BLOCK_BYTES));
  const padded = new Uint8Array(blocks * BLOCK_BYTES);
  padded.set(key);
  padded.set(data, keyBytes);
  const hasKeyed = keyBytes > 0 && blocks > 1;
  if (hasKeyed) h = keyed(h, key, person, length);
  for (let i = Number(hasKeyed); i < blocks; i++) {
    const block = new DataView(padded.buffer, i * BLOCK_BYTES, BLOCK_BYTES);
    compress(h, block, Math.min((i + 1) * BLOCK_BYTES, size), i === blocks - 1);
  }

  const digest = new DataView(new ArrayBuffer(64));
  h.forEach((word, i) => digest.setUint32(4 * i, word, true));
  return new Uint8Array(digest.buffer, 0, length);
}
