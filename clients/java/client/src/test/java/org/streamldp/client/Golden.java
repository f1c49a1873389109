package org.streamldp.client;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.List;
import java.util.Map;

/** The golden vectors of the repository. */
final class Golden {
  private static final Path HOME = Paths.get("../../../tests/golden");

  private Golden() {}

  static Object read(String name) throws IOException {
    return Json.parse(new String(Files.readAllBytes(HOME.resolve(name + ".json")), StandardCharsets.UTF_8));
  }

  @SuppressWarnings("unchecked")
  static List<Map<String, ?>> vectors(String name) throws IOException {
    return (List<Map<String, ?>>) read(name);
  }

  static byte[] hex(Map<String, ?> vector, String field) {
    return Bytes.fromHex((String) vector.get(field));
  }

  static long number(Map<String, ?> vector, String field) {
    return ((Number) vector.get(field)).longValue();
  }

  /** Returns words in order, and fails where more are taken. */
  static Words words(List<?> given) {
    return new Words() {
      private int used;

      @Override
      public long next() {
        return ((Number) given.get(used++)).longValue();
      }
    };
  }
}
