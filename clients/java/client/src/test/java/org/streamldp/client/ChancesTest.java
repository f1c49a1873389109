package org.streamldp.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Laws of draws, by seeded words: no test fails by chance. That those of the system are as good, the suite for all
 * languages tests, with a stated error rate.
 */
class ChancesTest {
  private static final int DRAWN = 200_000;

  private static Words seeded(long seed) {
    Random random = new Random(seed);
    return () -> random.nextInt() & 0xffffffffL;
  }

  private static void near(double expected, double found, String what) {
    double error = Math.sqrt(expected * (1 - expected) / DRAWN);
    assertTrue(Math.abs(found - expected) < 5 * error + 1e-9, what + ": " + found + ", not " + expected);
  }

  @Test
  void uniformNumbersPassOverWordsThatWouldFavourSome() {
    long[] given = {0xffffffffL, 0xfffffffeL, 7};
    int[] used = new int[1];
    Words words = () -> given[used[0]++];
    assertEquals(7, words.uniform(3L << 29));
    assertEquals(3, used[0]);
    assertEquals(2, seededUses(given));
  }

  private static int seededUses(long[] given) {
    int[] used = new int[1];
    Words words = () -> given[used[0]++];
    // 2^32 mod 3 is 1: the last word alone is passed over.
    assertEquals(given[1] % 3, words.uniform(3));
    return used[0];
  }

  /** Exact: with thresholds of three digits, the first three words decide, and all of their lowest bits are played. */
  @Test
  void decisionsByDigitsHaveTheChancesOfTheirThresholds() {
    for (long eighths = 0; eighths <= 8; eighths++) {
      long threshold = eighths << 29;
      for (int state = 0; state < 2; state++) {
        long[] thresholds = {state == 0 ? threshold : 5L << 29, state == 1 ? threshold : 0};
        int found = 0;
        for (int played = 0; played < 8; played++) {
          int[] used = new int[1];
          int bits = played;
          Words words = () -> bits >> used[0]++ & 1;
          found += (int) Words.digitByDigit(words, state, thresholds[0], thresholds[1], 1);
        }
        assertEquals(eighths, found);
      }
    }
  }

  @Test
  void decisionsByDigitsOfManyBitsAreThoseOfEach() {
    Words words = seeded(21);
    long zero = 1_288_490_189L;
    long one = 3_435_973_837L;
    long states = 0xf0f0_1234_5678_9abcL;
    long[] ones = new long[64];
    for (int i = 0; i < DRAWN; i++) {
      long decided = Words.digitByDigit(words, states, zero, one, 64);
      for (int bit = 0; bit < 64; bit++) {
        ones[bit] += decided >>> bit & 1;
      }
    }
    for (int bit = 0; bit < 64; bit++) {
      near(((states >>> bit & 1) == 0 ? zero : one) / (double) Exact.WHOLE, ones[bit] / (double) DRAWN, "bit " + bit);
    }
  }

  /** Each oracle sends an answer that supports the true value with its chance, by what its parameters say. */
  @Test
  void answersOfEachRandomizerAreAsLikelyAsTheMeaningSays() {
    long kept = 3_000_000_000L;
    double chance = kept / (double) Exact.WHOLE;
    Map<String, Double> truths = new HashMap<>();
    Object[][] cases = {
      {"direct", Arrays.asList(5L, 0L, kept), chance},
      {"k-subset", Arrays.asList(6L, 2L, kept), chance},
      {"unary", Arrays.asList(4L, kept), chance},
      {"oue", Arrays.asList(4L, kept), 0.5},
      {"repeated", Arrays.asList(5L, kept, kept), chance},
    };
    for (Object[] each : cases) {
      Randomizer randomizer = new Randomizer(each[0], each[1]);
      Words words = seeded(11);
      int supported = 0;
      for (int i = 0; i < DRAWN; i++) {
        byte[] row = randomizer.answer(3, null, words);
        boolean isNumber = each[0].equals("direct") || each[0].equals("repeated");
        supported += (isNumber ? row[0] == 3 : Bytes.bit(row, 3)) ? 1 : 0;
      }
      near((Double) each[2], supported / (double) DRAWN, (String) each[0]);
      truths.put((String) each[0], (Double) each[2]);
    }
    assertEquals(cases.length, truths.size());
  }

  @Test
  void subsetsHaveTheirSize() {
    Randomizer randomizer = new Randomizer("k-subset", Arrays.asList(9L, 4L, 1_000_000_000L));
    Words words = seeded(3);
    for (int i = 0; i < 1_000; i++) {
      byte[] row = randomizer.answer(i % 9, null, words);
      assertEquals(4, Integer.bitCount(row[0] & 0xff) + Integer.bitCount(row[1] & 0xff));
    }
  }

  @Test
  void halfSpacesAreNearWithTheirChance() {
    long kept = 3_000_000_000L;
    for (long d = 1; d <= 6; d++) {
      Randomizer randomizer = new Randomizer("mean-est", Arrays.asList(d, kept));
      Words words = seeded(d);
      int near = 0;
      for (int i = 0; i < DRAWN; i++) {
        long row = randomizer.answer(0b101010 & ((1 << d) - 1), null, words)[0];
        int agree = (int) d - Long.bitCount((row ^ 0b101010) & ((1 << d) - 1));
        near += 2 * agree > d ? 1 : 0;
      }
      near(kept / (double) Exact.WHOLE, near / (double) DRAWN, "mean-est of " + d);
    }
  }

  @Test
  void responsesOfSetsSupportWhatIsHeldWithTheirChance() {
    int[] items = {2, 5, 7, 8};
    SetCollection.Response response = SetCollection.Response.setHadamard(2, 10, 3, 3);
    Words words = seeded(5);
    int supported = 0;
    for (int i = 0; i < DRAWN; i++) {
      byte[] row = response.reportSet(items, words);
      long bits = (row[0] & 0xffL) | (row[1] & 0xffL) << 8;
      long hash = 0;
      for (int t = 0; t < 3; t++) {
        hash |= (long) (Long.bitCount(bits >> (4 * t) & 15 & items[0]) & 1) << t;
      }
      supported += hash == bits >> 12 ? 1 : 0;
    }
    // Of four items, three hashes are kept at most: the chance of one is between those of none and of all.
    double p = response.kept / (double) Exact.WHOLE;
    double share = supported / (double) DRAWN;
    assertTrue(share < p && share > 0.7 * p, "share " + share + " of " + p);
  }

  @Test
  void theBestResponseIsTheOneOfTheSpecification() {
    assertEquals("direct", SetCollection.Response.best(2.4, 10, false, 3).kind);
    assertEquals(3_098_306_719L, SetCollection.Response.best(2.4, 10, false, 3).kept);
    assertEquals("set-hadamard", SetCollection.Response.best(0.75, 300, false, 2).kind);
    assertEquals(888_454_739L, SetCollection.Response.best(0.75, 300, false, 2).kept);
    assertEquals("hadamard", SetCollection.Response.best(3, 2_000, true, 1).kind);
  }
}
