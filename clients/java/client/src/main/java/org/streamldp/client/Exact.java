package org.streamldp.client;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;

/** Numbers with more digits than a double has, as whole multiples of 2^-256: chances have to be the same everywhere. */
final class Exact {
  /** Number of values of a random word. */
  static final long WHOLE = 1L << 32;

  private static final int BITS = 256;
  static final BigInteger ONE = BigInteger.ONE.shiftLeft(BITS);

  /** Halvings before a power series, which is short for what is left; so many digits are lost again by squaring. */
  private static final int HALVINGS = 16;

  private Exact() {}

  /** Returns a whole number as a multiple of 2^-256. */
  static BigInteger whole(long number) {
    return BigInteger.valueOf(number).shiftLeft(BITS);
  }

  /** Returns e to a power that is not negative, as a multiple of 2^-256. */
  static BigInteger exp(double power) {
    return exp(new BigDecimal(power), 1);
  }

  /** Returns e to a power that is a double by a whole number. */
  static BigInteger exp(BigDecimal power, int by) {
    BigInteger small =
        power.multiply(new BigDecimal(ONE)).divide(BigDecimal.valueOf(by), 0, RoundingMode.FLOOR).toBigInteger();
    small = small.shiftRight(HALVINGS);
    BigInteger sum = BigInteger.ZERO;
    BigInteger term = ONE;
    for (int i = 1; term.signum() > 0; i++) {
      sum = sum.add(term);
      term = term.multiply(small).shiftRight(BITS).divide(BigInteger.valueOf(i));
    }
    for (int i = 0; i < HALVINGS; i++) {
      sum = sum.multiply(sum).shiftRight(BITS);
    }
    return sum;
  }

  /** Returns the largest whole number that is not above 2^32 times a quotient. */
  static long share(BigInteger part, BigInteger of) {
    return part.shiftLeft(32).divide(of).longValueExact();
  }

  /** Returns the threshold of a probability, in units of 2^-32: rounded to the nearest, halves to even. */
  static long threshold(double probability) {
    return (long) Math.rint(probability * WHOLE);
  }
}
