package org.streamldp.client;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * JSON: read, and written as section 5 of docs/wire.md has it.
 *
 * <p>Objects are maps in the order of the text, arrays are lists; whole numbers are {@link Long}, others {@link Double}.
 */
final class Json {
  private static final int MOST_NESTED = 100;

  private final String text;
  private int at;
  private int nested;

  private Json(String text) {
    this.text = text;
  }

  /**
   * Reads a text.
   *
   * @throws IllegalArgumentException it is not JSON; the message says where, and repeats nothing
   */
  static Object parse(String text) {
    Json json = new Json(text);
    Object found = json.value();
    json.blank();
    if (json.at < text.length()) {
      throw json.wrong();
    }
    return found;
  }

  private IllegalArgumentException wrong() {
    return new IllegalArgumentException("not JSON, at character " + at);
  }

  private void blank() {
    while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
      at++;
    }
  }

  private boolean takes(String token) {
    blank();
    boolean found = text.startsWith(token, at);
    at += found ? token.length() : 0;
    return found;
  }

  private void expect(String token) {
    if (!takes(token)) {
      throw wrong();
    }
  }

  private Object value() {
    if (++nested > MOST_NESTED) {
      throw wrong();
    }
    try {
      if (takes("{")) {
        return object();
      }
      if (takes("[")) {
        return array();
      }
      if (takes("\"")) {
        return string();
      }
      if (takes("true")) {
        return true;
      }
      if (takes("false")) {
        return false;
      }
      return takes("null") ? null : number();
    } finally {
      nested--;
    }
  }

  private Map<String, Object> object() {
    Map<String, Object> found = new LinkedHashMap<>();
    if (takes("}")) {
      return found;
    }
    do {
      expect("\"");
      String name = string();
      expect(":");
      if (found.put(name, value()) != null) {
        throw wrong();
      }
    } while (takes(","));
    expect("}");
    return found;
  }

  private List<Object> array() {
    List<Object> found = new ArrayList<>();
    if (takes("]")) {
      return found;
    }
    do {
      found.add(value());
    } while (takes(","));
    expect("]");
    return found;
  }

  private String string() {
    StringBuilder found = new StringBuilder();
    while (true) {
      if (at >= text.length() || text.charAt(at) < ' ') {
        throw wrong();
      }
      char each = text.charAt(at++);
      if (each == '"') {
        return found.toString();
      }
      found.append(each == '\\' ? escaped() : each);
    }
  }

  private char escaped() {
    int place = at < text.length() ? "\"\\/bfnrtu".indexOf(text.charAt(at++)) : -1;
    if (place < 0) {
      throw wrong();
    }
    if (place < 8) {
      return "\"\\/\b\f\n\r\t".charAt(place);
    }
    int code = 0;
    for (int i = 0; i < 4; i++) {
      int digit = at < text.length() ? Character.digit(text.charAt(at++), 16) : -1;
      if (digit < 0) {
        throw wrong();
      }
      code = 16 * code + digit;
    }
    return (char) code;
  }

  private Object number() {
    int from = at;
    boolean isWhole = true;
    while (at < text.length() && "+-0123456789.eE".indexOf(text.charAt(at)) >= 0) {
      isWhole &= ".eE".indexOf(text.charAt(at++)) < 0;
    }
    String digits = text.substring(from, at);
    if (!digits.matches("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?")) {
      at = from;
      throw wrong();
    }
    try {
      return isWhole ? (Object) Long.valueOf(digits) : Double.valueOf(digits);
    } catch (NumberFormatException large) {
      return Double.valueOf(digits);
    }
  }

  /** Writes a value as canonical JSON. */
  static String canonical(Object value) {
    StringBuilder text = new StringBuilder();
    write(value, text);
    return text.toString();
  }

  private static void write(Object value, StringBuilder text) {
    if (value instanceof String) {
      quote((String) value, text);
    } else if (value instanceof Double) {
      text.append(shortest((Double) value));
    } else if (value instanceof Map) {
      String between = "{";
      for (Map.Entry<?, ?> each : ((Map<?, ?>) value).entrySet()) {
        text.append(between);
        quote(String.valueOf(each.getKey()), text);
        write(each.getValue(), text.append(':'));
        between = ",";
      }
      text.append(between.equals("{") ? "{}" : "}");
    } else if (value instanceof Iterable) {
      String between = "[";
      for (Object each : (Iterable<?>) value) {
        write(each, text.append(between));
        between = ",";
      }
      text.append(between.equals("[") ? "[]" : "]");
    } else {
      text.append(value);
    }
  }

  private static void quote(String value, StringBuilder text) {
    text.append('"');
    for (int i = 0; i < value.length(); i++) {
      char each = value.charAt(i);
      int place = "\"\\\b\f\n\r\t".indexOf(each);
      if (place >= 0) {
        text.append('\\').append("\"\\bfnrt".charAt(place));
      } else if (each < ' ') {
        text.append(String.format(Locale.ROOT, "\\u%04x", (int) each));
      } else {
        text.append(each);
      }
    }
    text.append('"');
  }

  /** Returns a finite double with the fewest digits that are the same double, written as section 5 has it. */
  static String shortest(double number) {
    if (number == 0) {
      return 1 / number < 0 ? "-0.0" : "0.0";
    }
    BigDecimal exact = new BigDecimal(number);
    BigDecimal found = exact;
    // Not by Double.toString, which writes too many digits of some doubles before Java 19.
    for (int digits = 1; digits <= 17; digits++) {
      found = exact.round(new MathContext(digits, RoundingMode.HALF_EVEN));
      if (found.doubleValue() == number) {
        break;
      }
    }
    found = found.stripTrailingZeros();
    String digits = found.unscaledValue().abs().toString();
    int exponent = digits.length() - 1 - found.scale();
    String sign = number < 0 ? "-" : "";
    if (exponent < -4 || exponent >= 16) {
      String rest = digits.length() > 1 ? "." + digits.substring(1) : "";
      // In some locales, numbers have other digits, which no reader of JSON takes.
      String power = String.format(Locale.ROOT, "e%s%02d", exponent < 0 ? "-" : "+", Math.abs(exponent));
      return sign + digits.charAt(0) + rest + power;
    }
    if (exponent < 0) {
      return sign + "0." + "0".repeat(-exponent - 1) + digits;
    }
    if (digits.length() <= exponent + 1) {
      return sign + digits + "0".repeat(exponent + 1 - digits.length()) + ".0";
    }
    return sign + digits.substring(0, exponent + 1) + "." + digits.substring(exponent + 1);
  }
}
