package org.streamldp.client;

/**
 * BLAKE2b with a key and a person (RFC 7693; Aumasson, Neves, Wilcox-O'Hearn and Winnerlein, 2013, section 2.8).
 *
 * <p>What a key and a purpose have in common is computed once: of each digest with a key, the first of two blocks is the
 * key's own.
 */
final class Blake2b {
  static final int MOST_BYTES = 64;

  static final int BLOCK_BYTES = 128;
  private static final int PERSON_BYTES = 16;

  static final long[] IV = {
    0x6a09e667f3bcc908L, 0xbb67ae8584caa73bL, 0x3c6ef372fe94f82bL, 0xa54ff53a5f1d36f1L,
    0x510e527fade682d1L, 0x9b05688c2b3e6c1fL, 0x1f83d9abfb41bd6bL, 0x5be0cd19137e2179L,
  };

  /** The order in which each of the twelve rounds takes the words of a block: four bits each, the lowest first. */
  static final long[] SIGMA = {
    0xfedcba9876543210L, 0x357b20c16df984aeL, 0x491763eadf250c8bL,
    0x8f04a562ebcd1397L, 0xd386cb1efa427509L, 0x91ef57d438b0a6c2L,
    0xb8293670a4def15cL, 0xa2684f05931ce7bdL, 0x5a417d2c803b9ef6L,
    0x0dc3e9bf5167482aL, 0xfedcba9876543210L, 0x357b20c16df984aeL,
  };

  private final int length;
  private final byte[] key;
  private final long[] start;
  private final long[] afterKey;
  private final long[] m = new long[16];
  private final long[] h = new long[8];

  /**
   * Prepares digests of one length with one key, for one purpose. One thread at a time may use it.
   *
   * @param key at most 64 bytes, none for no key
   * @param person 16 characters of ASCII, or none
   * @param length bytes of each digest, 1 to 64
   */
  Blake2b(byte[] key, String person, int length) {
    this.length = length;
    this.key = key;
    start = IV.clone();
    start[0] ^= 0x01010000L ^ ((long) key.length << 8) ^ length;
    if (!person.isEmpty()) {
      if (person.length() != PERSON_BYTES) {
        throw new IllegalArgumentException("a person has 16 characters");
      }
      byte[] bytes = person.getBytes(java.nio.charset.StandardCharsets.US_ASCII);
      start[6] ^= Bytes.i64(bytes, 0);
      start[7] ^= Bytes.i64(bytes, 8);
    }
    afterKey = start.clone();
    if (key.length > 0) {
      load(key, 0, key.length);
      compress(afterKey, BLOCK_BYTES, false);
    }
  }

  /** Returns the state of every digest once the block of the key has been taken. */
  long[] afterKey() {
    return afterKey;
  }

  /** Returns the digest of all of some bytes. */
  byte[] digest(byte[] data) {
    byte[] digest = new byte[length];
    digest(data, data.length, digest, 0);
    return digest;
  }

  /** Writes the digest of the first bytes of an array to a place of another. */
  void digest(byte[] data, int size, byte[] out, int at) {
    boolean isKeyed = key.length > 0;
    long done = isKeyed ? BLOCK_BYTES : 0;
    if (isKeyed && size == 0) {
      System.arraycopy(start, 0, h, 0, 8);
      load(key, 0, key.length);
      compress(h, BLOCK_BYTES, true);
    } else {
      System.arraycopy(afterKey, 0, h, 0, 8);
      int from = 0;
      for (; size - from > BLOCK_BYTES; from += BLOCK_BYTES) {
        load(data, from, BLOCK_BYTES);
        done += BLOCK_BYTES;
        compress(h, done, false);
      }
      load(data, from, size - from);
      compress(h, done + size - from, true);
    }
    for (int i = 0; i < length; i++) {
      out[at + i] = (byte) (h[i >> 3] >>> (8 * (i & 7)));
    }
  }

  private void load(byte[] data, int from, int size) {
    int whole = size >> 3;
    for (int i = 0; i < whole; i++) {
      m[i] = Bytes.i64(data, from + 8 * i);
    }
    for (int i = whole; i < 16; i++) {
      m[i] = 0;
    }
    for (int i = 8 * whole; i < size; i++) {
      m[whole] |= (data[from + i] & 0xffL) << (8 * (i & 7));
    }
  }

  /** Takes the block in {@code m} into a state. The sixteen words of the working vector are variables, for speed. */
  private void compress(long[] state, long bytes, boolean isLast) {
    final long[] m = this.m;
    long v0 = state[0];
    long v1 = state[1];
    long v2 = state[2];
    long v3 = state[3];
    long v4 = state[4];
    long v5 = state[5];
    long v6 = state[6];
    long v7 = state[7];
    long v8 = IV[0];
    long v9 = IV[1];
    long v10 = IV[2];
    long v11 = IV[3];
    long v12 = IV[4] ^ bytes;
    long v13 = IV[5];
    long v14 = isLast ? ~IV[6] : IV[6];
    long v15 = IV[7];
    for (int round = 0; round < 12; round++) {
      final long s = SIGMA[round];
      v0 += v4 + m[(int) s & 15];
      v12 = Long.rotateRight(v12 ^ v0, 32);
      v8 += v12;
      v4 = Long.rotateRight(v4 ^ v8, 24);
      v0 += v4 + m[(int) (s >>> 4) & 15];
      v12 = Long.rotateRight(v12 ^ v0, 16);
      v8 += v12;
      v4 = Long.rotateRight(v4 ^ v8, 63);
      v1 += v5 + m[(int) (s >>> 8) & 15];
      v13 = Long.rotateRight(v13 ^ v1, 32);
      v9 += v13;
      v5 = Long.rotateRight(v5 ^ v9, 24);
      v1 += v5 + m[(int) (s >>> 12) & 15];
      v13 = Long.rotateRight(v13 ^ v1, 16);
      v9 += v13;
      v5 = Long.rotateRight(v5 ^ v9, 63);
      v2 += v6 + m[(int) (s >>> 16) & 15];
      v14 = Long.rotateRight(v14 ^ v2, 32);
      v10 += v14;
      v6 = Long.rotateRight(v6 ^ v10, 24);
      v2 += v6 + m[(int) (s >>> 20) & 15];
      v14 = Long.rotateRight(v14 ^ v2, 16);
      v10 += v14;
      v6 = Long.rotateRight(v6 ^ v10, 63);
      v3 += v7 + m[(int) (s >>> 24) & 15];
      v15 = Long.rotateRight(v15 ^ v3, 32);
      v11 += v15;
      v7 = Long.rotateRight(v7 ^ v11, 24);
      v3 += v7 + m[(int) (s >>> 28) & 15];
      v15 = Long.rotateRight(v15 ^ v3, 16);
      v11 += v15;
      v7 = Long.rotateRight(v7 ^ v11, 63);
      v0 += v5 + m[(int) (s >>> 32) & 15];
      v15 = Long.rotateRight(v15 ^ v0, 32);
      v10 += v15;
      v5 = Long.rotateRight(v5 ^ v10, 24);
      v0 += v5 + m[(int) (s >>> 36) & 15];
      v15 = Long.rotateRight(v15 ^ v0, 16);
      v10 += v15;
      v5 = Long.rotateRight(v5 ^ v10, 63);
      v1 += v6 + m[(int) (s >>> 40) & 15];
      v12 = Long.rotateRight(v12 ^ v1, 32);
      v11 += v12;
      v6 = Long.rotateRight(v6 ^ v11, 24);
      v1 += v6 + m[(int) (s >>> 44) & 15];
      v12 = Long.rotateRight(v12 ^ v1, 16);
      v11 += v12;
      v6 = Long.rotateRight(v6 ^ v11, 63);
      v2 += v7 + m[(int) (s >>> 48) & 15];
      v13 = Long.rotateRight(v13 ^ v2, 32);
      v8 += v13;
      v7 = Long.rotateRight(v7 ^ v8, 24);
      v2 += v7 + m[(int) (s >>> 52) & 15];
      v13 = Long.rotateRight(v13 ^ v2, 16);
      v8 += v13;
      v7 = Long.rotateRight(v7 ^ v8, 63);
      v3 += v4 + m[(int) (s >>> 56) & 15];
      v14 = Long.rotateRight(v14 ^ v3, 32);
      v9 += v14;
      v4 = Long.rotateRight(v4 ^ v9, 24);
      v3 += v4 + m[(int) (s >>> 60) & 15];
      v14 = Long.rotateRight(v14 ^ v3, 16);
      v9 += v14;
      v4 = Long.rotateRight(v4 ^ v9, 63);
    }
    state[0] ^= v0 ^ v8;
    state[1] ^= v1 ^ v9;
    state[2] ^= v2 ^ v10;
    state[3] ^= v3 ^ v11;
    state[4] ^= v4 ^ v12;
    state[5] ^= v5 ^ v13;
    state[6] ^= v6 ^ v14;
    state[7] ^= v7 ^ v15;
  }
}
