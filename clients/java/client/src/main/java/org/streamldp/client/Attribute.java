package org.streamldp.client;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** An attribute of records, and what a record may say of it: sections 1 and 17 of docs/wire.md. */
final class Attribute {
  private static final Pattern DECIMAL =
      Pattern.compile("[+-]?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)([eE][+-]?[0-9]+)?");

  final String name;

  /** Values of the list; none where numbers of a range or any texts are asked for. */
  final List<String> values;

  private final Map<String, Integer> numbers = new HashMap<>();
  private final double[] edges;
  private final String missing;
  private final String other;
  private final boolean clips;

  /** The length of the steps of which numbers are whole ones; 0 where they are any of the range. */
  private final double step;

  /** The least and the largest number; none where a list or any texts are asked for. */
  final double[] range;

  Attribute(Document document) {
    name = document.text("name");
    values = document.has("values") ? document.names("values") : new ArrayList<>();
    missing = document.text("missing", null);
    other = document.text("other", null);
    clips = document.isTrue("clip", true);
    edges = document.has("bins") ? numbersOf(document.list("bins")) : new double[0];
    range = document.has("range") ? numbersOf(document.list("range")) : new double[0];
    step = document.has("step") ? document.positive("step") : 0;
    for (String each : values) {
      numbers.put(each, numbers.size());
    }
    for (String each : new String[] {missing, other}) {
      if (each != null && !values.isEmpty() && !numbers.containsKey(each)) {
        throw new CollectionException("attribute \"" + name + "\": missing and other are among its values");
      }
    }
  }

  private double[] numbersOf(List<?> given) {
    double[] found = new double[given.size()];
    for (int i = 0; i < found.length; i++) {
      Object each = given.get(i);
      found[i] =
          "inf".equals(each)
              ? Double.POSITIVE_INFINITY
              : "-inf".equals(each)
                  ? Double.NEGATIVE_INFINITY
                  : each instanceof Number ? ((Number) each).doubleValue() : Double.NaN;
      if (Double.isNaN(found[i]) || i > 0 && !(found[i - 1] < found[i])) {
        throw new CollectionException("attribute \"" + name + "\" needs ascending numbers");
      }
    }
    if (found.length < 2) {
      throw new CollectionException("attribute \"" + name + "\" needs two numbers or more");
    }
    return found;
  }

  boolean isList() {
    return !values.isEmpty();
  }

  boolean isRange() {
    return range.length > 0;
  }

  /** Returns what the meaning of a sampled collection has of the attribute. */
  Object domain() {
    if (isList()) {
      return values;
    }
    if (!isRange()) {
      return null;
    }
    return step > 0 ? java.util.Arrays.asList(range[0], range[1], step) : java.util.Arrays.asList(range[0], range[1]);
  }

  static boolean isMissing(Object value) {
    return value == null
        || value instanceof CharSequence && ((CharSequence) value).length() == 0
        || value instanceof Number && Double.isNaN(((Number) value).doubleValue());
  }

  /** Returns the text that stands for a value, or null where it is neither a text, a number nor a Boolean. */
  static String textOf(Object value) {
    if (value instanceof CharSequence || value instanceof Boolean) {
      return value.toString();
    }
    if (value instanceof Double || value instanceof Float) {
      double number = Double.parseDouble(value.toString());
      if (Double.isInfinite(number)) {
        return number > 0 ? "1e999" : "-1e999";
      }
      boolean isWhole = number == Math.rint(number);
      return isWhole ? new BigDecimal(number).toBigInteger().toString() : Json.shortest(number);
    }
    if (value instanceof BigDecimal) {
      BigDecimal number = (BigDecimal) value;
      boolean isWhole = number.signum() == 0 || number.stripTrailingZeros().scale() <= 0;
      return isWhole ? number.toBigInteger().toString() : textOf(number.doubleValue());
    }
    boolean isWhole =
        value instanceof Long
            || value instanceof Integer
            || value instanceof Short
            || value instanceof Byte
            || value instanceof BigInteger;
    return isWhole ? value.toString() : null;
  }

  /** Returns the double that a number, or a text that is a decimal, stands for; NaN for whatever else. */
  static double numberIn(Object value) {
    if (value instanceof Number) {
      return value instanceof Float ? Double.parseDouble(value.toString()) : ((Number) value).doubleValue();
    }
    return value instanceof CharSequence && DECIMAL.matcher((CharSequence) value).matches()
        ? Double.parseDouble(value.toString())
        : Double.NaN;
  }

  /**
   * Returns the number of the value of a list that stands for what a record says.
   *
   * @throws DataException there is none
   */
  int numberOf(Object value) {
    if (isMissing(value)) {
      return numbers.get(orRefuse(missing, "has no value, and none for what is missing"));
    }
    String text = textOf(value);
    Integer known = text == null ? null : numbers.get(text);
    if (known != null) {
      return known;
    }
    int bin = edges.length > 0 ? binOf(numberIn(value)) : -1;
    return bin >= 0 ? bin : numbers.get(orRefuse(other, "does not have the given value, and none for all others"));
  }

  private String orRefuse(String value, String why) {
    if (value == null) {
      throw new DataException("attribute \"" + name + "\" " + why + ": nothing was sent");
    }
    return value;
  }

  private int binOf(double number) {
    double least = edges[0];
    double largest = edges[edges.length - 1];
    if (Double.isNaN(number) || !clips && !(least <= number && number <= largest)) {
      return -1;
    }
    int bin = edges.length - 2;
    while (bin > 0 && edges[bin] > number) {
      bin--;
    }
    return bin;
  }

  /**
   * Returns the number of a range that a record says.
   *
   * @throws DataException it is none, or beyond a range that does not clip
   */
  double rangeNumberOf(Object value) {
    double number = isMissing(value) ? Double.NaN : numberIn(value);
    if (Double.isNaN(number)) {
      throw new DataException("attribute \"" + name + "\" needs a number: nothing was sent");
    }
    double clipped = Math.min(Math.max(number, range[0]), range[1]);
    if (!clips && clipped != number) {
      throw new DataException("attribute \"" + name + "\": the number is beyond its range: nothing was sent");
    }
    if (step > 0) {
      clipped = Math.min(range[0] + Math.floor((clipped - range[0]) / step + 0.5) * step, range[1]);
    }
    return clipped + 0.0; // 0 for -0
  }

  /**
   * Returns the text that a record says of an attribute of any text.
   *
   * @throws DataException it is empty, or no text
   */
  String anyTextOf(Object value) {
    String text = isMissing(value) ? missing : textOf(value);
    return orRefuse(text, "has no text, and none for what is missing");
  }
}
