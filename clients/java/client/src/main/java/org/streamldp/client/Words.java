package org.streamldp.client;

import java.security.SecureRandom;

/** A source of uniform words of 32 bits, of which every random decision is made. */
interface Words {
  /** Returns the next word, from 0 to 2^32 - 1. */
  long next();

  /** Draws a number uniformly from 0 to below a count; words that would favour some numbers are passed over. */
  default long uniform(long count) {
    long even = Exact.WHOLE - Exact.WHOLE % count;
    while (true) {
      long word = next();
      if (word < even) {
        return word % count;
      }
    }
  }

  /** Returns a source of the words that a secret determines for a purpose: 16 of each block, in order. */
  static Words keyed(Secret secret, String person, byte[] data) {
    return new Words() {
      private final Blake2b digests = secret.digests(person, Blake2b.MOST_BYTES);
      private final byte[] input = java.util.Arrays.copyOf(data, data.length + 4);
      private final byte[] block = new byte[Blake2b.MOST_BYTES];
      private int used = block.length;
      private int number;

      @Override
      public long next() {
        if (used == block.length) {
          Bytes.put32(input, data.length, number++);
          digests.digest(input, input.length, block, 0);
          used = 0;
        }
        used += 4;
        return Bytes.u32(block, used - 4);
      }
    };
  }

  /** The words of the operating system's generator, as {@link SecureRandom} has them. */
  final class System implements Words {
    private static final SecureRandom RANDOM = new SecureRandom();

    /** Bytes that are drawn at once: a call costs as much as some hundred bytes. What is left over is forgotten. */
    private static final int DRAWN = 1024;

    private final byte[] drawn = new byte[DRAWN];
    private int used = DRAWN;

    @Override
    public long next() {
      if (used == DRAWN) {
        RANDOM.nextBytes(drawn);
        used = 0;
      }
      used += 4;
      return Bytes.u32(drawn, used - 4);
    }

    static byte[] bytes(int count) {
      byte[] bytes = new byte[count];
      RANDOM.nextBytes(bytes);
      return bytes;
    }
  }
}
