/** SHA-256 (FIPS 180-4). WebCrypto's would make everything wait that a store's transaction cannot wait for. */

const BLOCK_BYTES = 64;

const PRIMES = [];
for (let n = 2; PRIMES.length < 64; n++) if (PRIMES.every((prime) => n % prime)) PRIMES.push(n);

/** The first 32 bits of the fractions of roots, which doubles hold. */
const fraction = (root) => ((root - Math.floor(root)) * 2 ** 32) >>> 0;
const ROUND = Uint32Array.from(PRIMES, (prime) => fraction(Math.cbrt(prime)));
const START = Uint32Array.from(PRIMES.slice(0, 8), (prime) => fraction(Math.sqrt(prime)));

const rotated = (word, bits) => (word >>> bits) | (word << (32 - bits));

/** Return a digest, 32 bytes. @param {Uint8Array} data @returns {Uint8Array} */
export function sha256(data) {
  const padded = new DataView(new ArrayBuffer(BLOCK_BYTES * Math.ceil((data.length + 9) / BLOCK_BYTES)));
  new Uint8Array(padded.buffer).set(data);
  padded.setUint8(data.length, 0x80);
  padded.setBigUint64(padded.byteLength - 8, 8n * BigInt(data.length));
  const hash = START.slice();
  const w = new Uint32Array(64);
  for (let start = 0; start < padded.byteLength; start += BLOCK_BYTES) {
    for (let i = 0; i < 16; i++) w[i] = padded.getUint32(start + 4 * i);
    for (let i = 16; i < 64; i++) {
      const [early, late] = [w[i - 15], w[i - 2]];
      const first = rotated(early, 7) ^ rotated(early, 18) ^ (early >>> 3);
      w[i] = w[i - 16] + first + w[i - 7] + (rotated(late, 17) ^ rotated(late, 19) ^ (late >>> 10));
    }
    let [a, b, c, d, e, f, g, h] = hash;
    for (let i = 0; i < 64; i++) {
      const chosen = (e & f) ^ (~e & g);
      const one = (h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + chosen + ROUND[i] + w[i]) | 0;
      const other = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + other) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((word, i) => (hash[i] += word));
  }
  const digest = new DataView(new ArrayBuffer(32));
  hash.forEach((word, i) => digest.setUint32(4 * i, word));
  return new Uint8Array(digest.buffer);
}
