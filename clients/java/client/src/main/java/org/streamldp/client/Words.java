package org.streamldp.client;

import java.security.SecureRandom;

/** A source of uniform words of 32 bits, which make every random decision. */
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

  /**
   * Decides up to 64 bits: each is 1 if its word is below a threshold, which depends on a bit of the states.
   *
   * @param states the lowest bit decides first
   * @param zero threshold where the state is 0
   * @param one threshold where it is 1
   */
  default long below(long states, long zero, long one, int count) {
    long decided = 0;
    for (int i = 0; i < count; i++) {
      decided |= (next() < ((states >>> i & 1) == 0 ? zero : one) ? 1L : 0L) << i;
    }
    return decided;
  }

  /**
   * Decides as {@link #below} does, all bits at once, by one digit of all words after another, the highest first: digits
   * behind the first in which a word and its threshold differ decide nothing, and are not drawn.
   *
   * @param source whose words are 32 random bits each, of no other meaning
   */
  static long digitByDigit(Words source, long states, long zero, long one, int count) {
    long open = count == 64 ? -1 : (1L << count) - 1;
    long certain = (zero == Exact.WHOLE ? ~states : 0) | (one == Exact.WHOLE ? states : 0);
    long decided = open & certain;
    open &= ~certain;
    // Where only zeros are left of both thresholds, no word that is equal so far is below.
    for (int digit = 31; open != 0 && ((zero | one) & (1L << digit + 1) - 1) != 0; digit--) {
      long threshold = ((one >>> digit & 1) == 0 ? 0 : states) | ((zero >>> digit & 1) == 0 ? 0 : ~states);
      long drawn = count <= 32 ? source.next() : source.next() | source.next() << 32;
      decided |= open & threshold & ~drawn;
      open &= ~(threshold ^ drawn);
    }
    return decided;
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

    // What is drawn is used within one call of a reporter: a process that is copied would take decisions twice.

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

    @Override
    public long below(long states, long zero, long one, int count) {
      return digitByDigit(this, states, zero, one, count);
    }

    static byte[] bytes(int count) {
      byte[] bytes = new byte[count];
      RANDOM.nextBytes(bytes);
      return bytes;
    }
  }
}
