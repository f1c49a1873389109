package org.streamldp.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Locale;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** JSON, and doubles as section 5 of docs/wire.md writes them. */
class JsonTest {
  @Test
  void whatIsReadIsWrittenAlike() {
    String text = "{\"a\":[1,2.5,null,true,\"\\\"\\\\\\b\\u0001é😀\"],\"b\":{},\"c\":[]}";
    assertEquals(text, Json.canonical(Json.parse(" " + text.replace(",", " ,\n") + "\t")));
  }

  @Test
  void whatIsNoJsonIsRefused() {
    String[] wrong = {"", "{", "[1,]", "{\"a\":1,\"a\":2}", "01", "1.", "nul", "\"\n\"", "\"\\x\"", "[1] 2", "[".repeat(999)};
    for (String each : wrong) {
      assertThrows(IllegalArgumentException.class, () -> Json.parse(each), each);
    }
  }

  @Test
  void doublesHaveTheFewestDigitsThatAreTheSame() {
    String[] shown = {"4.0", "0.0001", "1e-05", "1.5e+16", "1000000000000000.0", "2.25", "0.1", "5e-324", "-10.0", "2e-44"};
    for (String each : shown) {
      assertEquals(each, Json.shortest(Double.parseDouble(each)));
    }
    Locale usual = Locale.getDefault();
    try {
      // Where a user reads 1e-٠٥, a ledger and a meaning have 1e-05.
      Locale.setDefault(Locale.forLanguageTag("ar-EG"));
      assertEquals("1e-05", Json.shortest(1e-5));
      assertEquals("\"\\u0001\"", Json.canonical("\u0001"));
    } finally {
      Locale.setDefault(usual);
    }
    Random random = new Random(7);
    for (int i = 0; i < 2_000; i++) {
      double number = Double.longBitsToDouble(random.nextLong());
      if (!Double.isNaN(number) && !Double.isInfinite(number)) {
        assertEquals(number, Double.parseDouble(Json.shortest(number)));
      }
    }
  }
}
