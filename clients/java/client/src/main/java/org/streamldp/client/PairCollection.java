package org.streamldp.client;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Collections of key-value data: section 21 of docs/wire.md. */
final class PairCollection extends TurnCollection {
  /** The bits of the number that stands for a key that is not held. */
  private static final long NOT_HELD = 0x7ff8000000000000L;

  private final List<String> keys;
  private final double[][] ranges;
  private final boolean clips;
  private final long padding;
  private final Randomizer randomizer;
  private final boolean hasSlots;
  private final Cost cost;

  PairCollection(Document document, String meaning, List<?> all, Turns turns) {
    super(document, meaning, turns);
    List<?> meant = turns.without(all);
    require(meant.size() == 6 && name().equals(meant.get(0)), "the meaning is of another collection");
    require("pairs".equals(meant.get(1)), "the meaning is of another kind than the document");
    Document given = document.object("keys");
    keys = given.names("names");
    clips = given.isTrue("clip", true);
    ranges = new double[keys.size()][];
    List<Object> made = new ArrayList<>();
    for (int i = 0; i < ranges.length; i++) {
      List<?> range = (List<?>) (given.has("ranges") ? given.list("ranges").get(i) : given.list("range"));
      ranges[i] = new double[] {((Number) range.get(0)).doubleValue(), ((Number) range.get(1)).doubleValue()};
      require(ranges[i][0] < ranges[i][1], "keys: expected ranges that ascend");
      made.add(Arrays.asList(keys.get(i), ranges[i][0], ranges[i][1]));
    }
    require(
        Json.canonical(made).equals(Json.canonical(meant.get(2))),
        "the meaning has other keys or ranges than the document");
    padding = (Long) meant.get(3);
    Document mechanism = document.object("mechanism");
    require(
        padding >= 1 && padding <= Integer.MAX_VALUE && padding == mechanism.count("padding", padding),
        "the meaning has another padding than the document");
    long ends = 2L * keys.size();
    List<?> parameters = (List<?>) meant.get(5);
    // Of direct, slots without a key have a value each, and what is drawn hides behind what might have been.
    hasSlots = "direct".equals(meant.get(4)) && parameters.size() == 3 && parameters.get(1).equals(padding);
    if (hasSlots) {
      require(parameters.get(0).equals(ends), "the randomizer of the meaning does not fit its keys");
      randomizer = new Randomizer("direct", Arrays.asList(ends + padding, 0L, parameters.get(2)));
      double nats = Math.log1p(Math.expm1(randomizer.loss()) / padding);
      require(nats <= mechanism.positive("epsilon") * (1 + 1e-12), "an answer costs more than the document says");
      cost = Cost.once(Cost.roundedUp(nats));
    } else {
      randomizer = new Randomizer(meant.get(4), parameters);
      require(randomizer.parameter(0) == ends + 1, "the randomizer of the meaning does not fit its keys");
      randomizer.requireAtMost(mechanism.positive("epsilon"), "an answer");
      cost = randomizer.cost();
    }
  }

  @Override
  Object held(Map<String, ?> record) {
    requireKnown(record, keys, name());
    Double[] found = new Double[keys.size()];
    for (int i = 0; i < found.length; i++) {
      Object value = record.get(keys.get(i));
      if (!Attribute.isMissing(value)) {
        double number = Attribute.numberIn(value);
        double clipped = Math.min(Math.max(number, ranges[i][0]), ranges[i][1]);
        if (Double.isNaN(number) || !clips && clipped != number) {
          throw new DataException("\"" + keys.get(i) + "\" needs a number, within its range: nothing was sent");
        }
        found[i] = clipped + 0.0; // 0 for -0
      }
    }
    return found;
  }

  private byte[] madeOf(Double[] held) {
    Bytes.Writer data = Bytes.writer().bytes(ownFingerprint()).u16(0);
    for (Double each : held) {
      data.i64(each == null ? NOT_HELD : Double.doubleToLongBits(each));
    }
    return data.all();
  }

  @Override
  public Charge charge(Object held, Secret secret, Secret tags) {
    Charge charge = new Charge(name(), false);
    String tag = tags == null ? null : Charge.tag(tags, madeOf((Double[]) held));
    charge.shown.add(new Charge.Shown(fingerprintHex() + " 0", "keys and numbers", cost, tag));
    return charge;
  }

  @Override
  public byte[] row(Object held, Secret key, long timeMs, Words fresh) {
    Words words = fresh;
    if (key == null) {
      fresh.next(); // that of the question, of which there is one
    } else {
      words = Words.keyed(key, AskingCollection.ANSWERS, madeOf((Double[]) held));
    }
    byte[] answer = randomizer.answer(drawn((Double[]) held, words), null, words);
    return randomizer.again(answer, fresh);
  }

  /** Draws a key that is held and the end of its range to which its number is rounded, or none. */
  private long drawn(Double[] held, Words words) {
    int count = 0;
    for (Double each : held) {
      count += each == null ? 0 : 1;
    }
    long slot = words.uniform(Math.max(count, padding));
    long word = words.next();
    for (int i = 0; i < held.length; i++) {
      if (held[i] != null && slot-- == 0) {
        double share = (held[i] - ranges[i][0]) / (ranges[i][1] - ranges[i][0]);
        boolean isLarge = word < (long) Math.rint(Math.min(Math.max(share, 0), 1) * Exact.WHOLE);
        return 2L * i + (isLarge ? 1 : 0);
      }
    }
    return 2L * held.length + (hasSlots ? slot : 0);
  }
}
