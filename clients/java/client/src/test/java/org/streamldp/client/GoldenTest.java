package org.streamldp.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * The golden vectors that concern pieces of the client. Whole reports of every kind are those of the suite for all
 * languages, tests/clients/contract.
 */
class GoldenTest {
  private static List<byte[]> rows(Object given) {
    List<byte[]> rows = new ArrayList<>();
    for (Object each : (List<?>) given) {
      rows.add(Bytes.fromHex((String) each));
    }
    return rows;
  }

  private static void checkBatch(byte[] carried, Map<String, ?> batch, String bytes) {
    byte[] made =
        Batch.of("any", carried, Golden.hex(batch, "batch_id"), Golden.number(batch, "time_ms"), rows(batch.get("rows")))
            .bytes();
    assertEquals(batch.get(bytes), Bytes.hex(made));
  }

  @Test
  void batchesHaveTheirBytes() throws IOException {
    for (Map<String, ?> each : Golden.vectors("item_batches")) {
      checkBatch(Golden.hex(each, "fingerprint"), each, "encoded");
    }
    for (String name : new String[] {"record_reports", "sampled", "views", "strings", "places"}) {
      for (Map<String, ?> each : Golden.vectors(name)) {
        if (each.get("batch") != null) {
          checkBatch(Golden.hex(each, "fingerprint"), (Map<String, ?>) cast(each.get("batch")), "bytes");
        }
      }
    }
  }

  @SuppressWarnings("unchecked")
  private static Map<String, ?> cast(Object value) {
    return (Map<String, ?>) value;
  }

  @Test
  void meaningsAreHashedAsTheyCame() throws IOException {
    for (String name : new String[] {"fingerprint", "item_fingerprints", "rounds"}) {
      for (Map<String, ?> each : Golden.vectors(name)) {
        assertEquals(
            each.get("fingerprint"), Bytes.hex(CollectionSpec.fingerprintOf((String) each.get("canonical"))));
      }
    }
  }

  @Test
  void groupWordsAreThoseOfTheSecret() throws IOException {
    for (Map<String, ?> each : Golden.vectors("group_words")) {
      byte[] data =
          Bytes.writer().bytes(Golden.hex(each, "fingerprint")).i64(Golden.number(each, "epoch")).all();
      assertEquals(Golden.number(each, "word"), new Secret(Golden.hex(each, "secret")).word("stream-ldp grp 1", data));
    }
  }

  @Test
  void responsesToPhasesHaveTheirChancesAndRows() throws IOException {
    int seen = 0;
    for (Map<String, ?> each : Golden.vectors("responses")) {
      Map<String, ?> given = cast(each.get("parameters"));
      String kind = (String) each.get("kind");
      SetCollection.Response response = response(kind, given);
      if (response == null) {
        continue;
      }
      seen++;
      assertEquals(Golden.number(each, "kept"), response.kept, kind);
      assertEquals(Golden.number(each, "bits"), response.bits(), kind);
    }
    assertTrue(seen >= 5);
  }

  private static SetCollection.Response response(String kind, Map<String, ?> given) {
    if (given.get("epsilon") == null || given.get("size") == null) {
      return null;
    }
    long n = Golden.number(given, "size");
    double epsilon = ((Number) given.get("epsilon")).doubleValue();
    switch (kind) {
      case "hadamard":
        return SetCollection.Response.hadamard(epsilon, n, (int) Golden.number(given, "hash_bits"));
      case "set-hadamard":
        Object slots = given.get("set_size") == null ? given.get("padding") : given.get("set_size");
        return slots == null
            ? null
            : SetCollection.Response.setHadamard(
                epsilon, n, (int) Golden.number(given, "hash_bits"), ((Number) slots).longValue());
      case "unary":
        return SetCollection.Response.unary(epsilon, n);
      default:
        return null;
    }
  }

  @Test
  void kRrOfFreshNoiseCostsWhatItCosts() throws IOException {
    Map<String, ?> vector = cast(Golden.read("k_rr_fresh"));
    Map<String, ?> losses = cast(vector.get("losses"));
    List<?> kept = (List<?>) vector.get("kept");
    List<?> fresh = (List<?>) vector.get("fresh");
    String[] names = {"bathing", "mobility"};
    for (int j = 0; j < 2; j++) {
      Cost cost = Cost.repeated(j + 2, (Long) kept.get(j), (Long) fresh.get(j));
      for (int i = 0; i < ((List<?>) losses.get("reports")).size(); i++) {
        double exact = ((Number) ((List<?>) losses.get(names[j])).get(i)).doubleValue();
        double charged = cost.nats(((Number) ((List<?>) losses.get("reports")).get(i)).doubleValue());
        assertTrue(charged >= exact && charged <= exact * (1 + 1e-9) + 1e-9);
      }
    }
  }

  @Test
  void pseudonymsAreWordsOfTheSecret() throws IOException {
    Map<String, ?> vector = cast(Golden.read("linked"));
    for (Object each : (List<?>) vector.get("pseudonyms")) {
      byte[] data =
          Bytes.writer().bytes(Golden.hex(vector, "fingerprint")).i64(Golden.number(cast(each), "period")).all();
      byte[] made = new Secret(Golden.hex(vector, "secret")).keyed("stream-ldp lnk 1", 8, data);
      assertArrayEquals(Golden.hex(cast(each), "pseudonym"), made);
    }
  }
}
