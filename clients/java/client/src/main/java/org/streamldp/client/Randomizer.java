package org.streamldp.client;

import java.util.List;

/**
 * What perturbs one answer: the table of section 17 of docs/wire.md, and what it costs by rule 6 of section 15.
 *
 * <p>An answer is a row of {@link #bits} bits, of whole bytes.
 */
final class Randomizer {
  /** Beyond this many signs, a vector has no number that a word could be. */
  private static final int MOST_SIGNS = 32;

  /** Parts of a range, of which the points of an uneven grid are multiples. */
  private static final long PARTS = 1L << 16;

  final String kind;
  private final long[] parameters;
  private final int bits;

  /**
   * Reads a randomizer of a meaning.
   *
   * @throws CollectionException it is none, or cannot be
   */
  Randomizer(Object kind, Object given) {
    this.kind = (String) kind;
    List<?> list = (List<?>) given;
    parameters = new long[list.size()];
    for (int i = 0; i < parameters.length; i++) {
      parameters[i] = (Long) list.get(i);
      CollectionSpec.require(
          parameters[i] >= 0 && parameters[i] <= Exact.WHOLE, "a randomizer has another number than the meaning allows");
    }
    bits = (int) checkedBits();
  }

  private long checkedBits() {
    int expected;
    long found;
    boolean isPossible = parameters[0] >= 1;
    switch (kind) {
      case "direct":
        expected = 3;
        found = Bytes.width(parameters[0]);
        // The questions of a meaning have no slots.
        isPossible &= parameters[0] >= 2 && parameters[1] == 0;
        break;
      case "repeated":
        expected = 3;
        found = Bytes.width(parameters[0]);
        isPossible &= parameters[0] >= 2;
        break;
      case "hadamard":
        expected = 3;
        found = parameters[1] * (Bytes.width(parameters[0]) + 1);
        isPossible &= parameters[1] >= 1 && parameters[1] <= MOST_SIGNS;
        break;
      case "unary":
      case "oue":
        expected = 2;
        found = parameters[0];
        break;
      case "d-bit-flip":
        expected = 3;
        found = parameters[0];
        isPossible &= parameters[2] >= 1;
        break;
      case "k-subset":
        expected = 3;
        found = parameters[0];
        isPossible &= 1 <= parameters[1] && parameters[1] < parameters[0];
        break;
      case "bloom":
        expected = 5;
        found = parameters[0];
        isPossible &= parameters[1] >= 1 && parameters[3] < parameters[4];
        break;
      case "piecewise":
        expected = parameters.length == 3 ? 3 : (int) (2 + parameters[0]);
        found = Bytes.width(parameters[0] + parameters[1]);
        isPossible &= parameters[1] >= 1;
        for (int i = 3; i < parameters.length; i++) {
          isPossible &= parameters[i] > (i == 3 ? 0 : parameters[i - 1]) && parameters[i] < PARTS;
        }
        break;
      case "channel":
        expected = (int) (2 + parameters[0] * parameters[1]);
        found = Bytes.width(parameters[1]);
        for (int v = 0; isPossible && v < parameters[0]; v++) {
          long sum = 0;
          for (int output = 0; output < parameters[1]; output++) {
            sum += parameters[(int) (2 + v * parameters[1] + output)];
          }
          isPossible = sum == Exact.WHOLE;
        }
        break;
      case "mean-est":
        expected = 2;
        found = parameters[0];
        isPossible &= parameters[0] <= MOST_SIGNS;
        break;
      default:
        throw new CollectionException("this client does not speak the randomizer \"" + kind + "\"");
    }
    CollectionSpec.require(
        isPossible && parameters.length == expected && found <= 8 * 65_535L,
        "a randomizer, \"" + kind + "\", has parameters that cannot be");
    return found;
  }

  int bits() {
    return bits;
  }

  long parameter(int place) {
    return parameters[place];
  }

  /** Returns the grid of a {@code piecewise}, ascending from 0: its points, or their numbers where they are even. */
  long[] points() {
    long[] found = new long[(int) parameters[0] + 1];
    for (int i = 0; i < found.length; i++) {
      found[i] = parameters.length == 3 ? i : i == 0 ? 0 : i == parameters[0] ? PARTS : parameters[2 + i];
    }
    return found;
  }

  /** Whether every report has noise of its own. */
  boolean hasSecondNoise() {
    return kind.equals("repeated") || kind.equals("bloom") && (parameters[3] != 0 || parameters[4] != Exact.WHOLE);
  }

  /**
   * Makes an answer.
   *
   * @param value the value, or the point
   * @param filter the bits of a Bloom filter, for {@code bloom}; others take none
   */
  byte[] answer(long value, byte[] filter, Words words) {
    byte[] row = new byte[Bytes.bytesOf(bits)];
    switch (kind) {
      case "direct":
        Bytes.putBits(row, 0, direct(value, parameters[0], parameters[2], words), bits);
        break;
      case "repeated":
        Bytes.putBits(row, 0, direct(value, parameters[0], parameters[1], words), bits);
        break;
      case "hadamard":
        signs(row, value, words);
        break;
      case "unary":
      case "d-bit-flip":
      case "bloom":
        long kept = kind.equals("bloom") ? parameters[2] : parameters[1];
        for (int i = 0; i < bits; i++) {
          boolean isOne = filter == null ? i == value : Bytes.bit(filter, i);
          if (isOne != (words.next() >= kept)) {
            Bytes.setBit(row, i);
          }
        }
        break;
      case "oue":
        for (int i = 0; i < bits; i++) {
          if (words.next() < (i == value ? Exact.WHOLE / 2 : Exact.WHOLE - parameters[1])) {
            Bytes.setBit(row, i);
          }
        }
        break;
      case "k-subset":
        subset(row, value, words);
        break;
      case "piecewise":
        Bytes.putBits(row, 0, piece(value, words), bits);
        break;
      case "channel":
        Bytes.putBits(row, 0, output(value, words), bits);
        break;
      default:
        halfSpace(row, value, words);
    }
    return row;
  }

  static long direct(long value, long choices, long kept, Words words) {
    return words.next() < kept ? value : (value + 1 + words.uniform(choices - 1)) % choices;
  }

  private void signs(byte[] row, long value, Words words) {
    int t = (int) parameters[1];
    int width = Bytes.width(parameters[0]);
    long hash = 0;
    for (int i = 0; i < t; i++) {
      long index = words.uniform(1L << width);
      Bytes.putBits(row, i * width, index, width);
      hash |= (long) (Long.bitCount(index & value) & 1) << i;
    }
    Bytes.putBits(row, t * width, direct(hash, 1L << t, parameters[2], words), t);
  }

  private void subset(byte[] row, long value, Words words) {
    int k = bits;
    boolean isIn = words.next() < parameters[2];
    if (isIn) {
      Bytes.setBit(row, (int) value);
    }
    for (int j = (int) (k - parameters[1]) - (isIn ? 0 : 1); j <= k - 2; j++) {
      int drawn = other(words.uniform(j + 1L), value);
      Bytes.setBit(row, Bytes.bit(row, drawn) ? other(j, value) : drawn);
    }
  }

  /** Returns the value that has a number among all others than one. */
  private static int other(long number, long value) {
    return (int) (number < value ? number : number + 1);
  }

  private long piece(long value, Words words) {
    if (words.next() < parameters[2]) {
      return value + words.uniform(parameters[1]);
    }
    long drawn = words.uniform(parameters[0]);
    return drawn < value ? drawn : drawn + parameters[1];
  }

  private long output(long value, Words words) {
    long word = words.next();
    long end = 0;
    for (int output = 0; ; output++) {
      end += parameters[(int) (2 + value * parameters[1] + output)];
      if (end > word) {
        return output;
      }
    }
  }

  private static long binomial(int n, int k) {
    long found = k > n ? 0 : 1;
    for (int i = 1; i <= k && found > 0; i++) {
      found = found * (n - k + i) / i;
    }
    return found;
  }

  private static long nearVectors(int d) {
    long found = 0;
    for (int agreeing = d / 2 + 1; agreeing <= d; agreeing++) {
      found += binomial(d, agreeing);
    }
    return found;
  }

  private void halfSpace(byte[] row, long value, Words words) {
    int d = bits;
    boolean isNear = words.next() < parameters[1];
    long number = words.uniform(isNear ? nearVectors(d) : (1L << d) - nearVectors(d));
    int agreeing = isNear ? d / 2 + 1 : 0;
    for (; number >= binomial(d, agreeing); agreeing++) {
      number -= binomial(d, agreeing);
    }
    long agrees = 0;
    for (int count = agreeing; count > 0; count--) {
      int place = d - 1;
      while (binomial(place, count) > number) {
        place--;
      }
      agrees |= 1L << place;
      number -= binomial(place, count);
    }
    for (int place = 0; place < d; place++) {
      if ((value >> place & 1) == (agrees >> place & 1)) {
        Bytes.setBit(row, place);
      }
    }
  }

  /** Makes what one report sends of an answer: the same, where reports have no noise of their own. */
  byte[] again(byte[] answered, Words fresh) {
    if (!hasSecondNoise()) {
      return answered;
    }
    byte[] row = new byte[answered.length];
    if (kind.equals("repeated")) {
      long named = 0;
      for (int i = 0; i < bits; i++) {
        named |= (Bytes.bit(answered, i) ? 1L : 0L) << i;
      }
      Bytes.putBits(row, 0, direct(named, parameters[0], parameters[2], fresh), bits);
      return row;
    }
    for (int i = 0; i < bits; i++) {
      if (fresh.next() < (Bytes.bit(answered, i) ? parameters[4] : parameters[3])) {
        Bytes.setBit(row, i);
      }
    }
    return row;
  }

  /** Returns what an answer costs, however often it is reported, in nats; infinite where the chances show all. */
  double loss() {
    switch (kind) {
      case "channel":
        return channelLoss();
      case "direct":
        return loss(parameters[2], 1, parameters[0] - 1.0, 1);
      case "repeated":
        return loss(parameters[1], 1, parameters[0] - 1.0, 1);
      case "hadamard":
        return loss(parameters[2], 1, Math.pow(2, parameters[1]) - 1, 1);
      case "unary":
        return loss(parameters[1], 1, 1, 2);
      case "d-bit-flip":
        return loss(parameters[1], 1, 1, (int) Math.min(parameters[0], 2));
      case "oue":
        return loss(parameters[1], 1, 1, 1);
      case "k-subset":
        return loss(parameters[2], parameters[1], (double) parameters[0] - parameters[1], 1);
      case "bloom":
        return loss(parameters[2], 1, 1, 2 * (int) parameters[1]);
      case "piecewise":
        return loss(parameters[2], parameters[1], parameters[0], 1);
      default:
        double near = nearVectors(bits);
        return loss(parameters[1], near, Math.pow(2, bits) - near, 1);
    }
  }

  private static double loss(long kept, double a, double b, int n) {
    // Of an answer that is likelier where it is not true, the loss is as large the other way round.
    return Math.abs(Math.log(kept * b / ((Exact.WHOLE - kept) * a))) * n;
  }

  private double channelLoss() {
    double most = 0;
    for (int output = 0; output < parameters[1]; output++) {
      double least = Double.POSITIVE_INFINITY;
      double largest = 0;
      for (int v = 0; v < parameters[0]; v++) {
        double chance = parameters[(int) (2 + v * parameters[1] + output)];
        least = Math.min(least, chance);
        largest = Math.max(largest, chance);
      }
      if (largest > 0) {
        most = Math.max(most, Math.log(largest / least));
      }
    }
    return most;
  }

  Cost cost() {
    if (kind.equals("repeated")) {
      return Cost.repeated(parameters[0], parameters[1], parameters[2]);
    }
    return kind.equals("bloom") && hasSecondNoise()
        ? Cost.bloom(parameters[1], parameters[2], parameters[3], parameters[4])
        : Cost.once(Cost.roundedUp(loss()));
  }

  /** Requires that an answer costs no more than an epsilon, by more than the rounding of doubles. */
  void requireAtMost(double epsilon, String what) {
    if (!(loss() <= epsilon * (1 + 1e-12))) {
      throw new CollectionException(what + " costs more than the document says");
    }
  }
}
