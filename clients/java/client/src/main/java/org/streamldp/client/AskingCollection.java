package org.streamldp.client;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Sampled collections, and those of views: section 17 of docs/wire.md. */
final class AskingCollection extends TurnCollection {
  static final String ANSWERS = "stream-ldp ans 1";

  /** The grid of one step. */
  private static final long[] ONE_STEP = {0, 1};

  private final List<Attribute> attributes = new ArrayList<>();
  private final Map<String, Attribute> byName = new LinkedHashMap<>();
  private final List<Question> questions = new ArrayList<>();
  private final long[] ends;
  private final int answerBytes;
  private final Question dearest;

  /** A question about some attributes, and what perturbs its answers. */
  private static final class Question {
    final int number;
    final int[] of;
    final Randomizer randomizer;

    /** Number of the cohort, or -1 where values are not hashed. */
    final long cohort;

    /** Number of cells of each attribute, where cells of numbers are told; otherwise null. */
    final int[] shape;

    Question(int number, List<?> meant) {
      this.number = number;
      List<?> places = (List<?>) meant.get(0);
      of = new int[places.size()];
      for (int i = 0; i < of.length; i++) {
        of[i] = Math.toIntExact((Long) places.get(i));
      }
      randomizer = new Randomizer(meant.get(1), meant.get(2));
      Object more = meant.size() > 3 ? meant.get(3) : -1L;
      shape = more instanceof List ? ((List<?>) more).stream().mapToInt(AskingCollection::count).toArray() : null;
      cohort = shape == null ? (Long) more : -1;
      require(shape == null || shape.length == of.length, "a question has cells of other attributes");
      require(of.length >= 1 && (cohort < 0 || of.length == 1), "a question is about no attribute, or too many");
    }

    /** Whether the rounding of a number is permanent. */
    boolean isSettled() {
      return cohort == 0 && randomizer.kind.equals("piecewise");
    }

    boolean isHashed() {
      return cohort >= 0 && !isSettled();
    }
  }

  AskingCollection(Document document, String meaning, List<?> all, Turns turns) {
    super(document, meaning, turns);
    List<?> meant = turns.without(all);
    require(meant.size() == 5 && name().equals(meant.get(0)), "the meaning is of another collection");
    require("sampled".equals(meant.get(1)), "the meaning is of another kind than the document");
    List<Object> domains = new ArrayList<>();
    for (Document each : document.objects("attributes")) {
      Attribute attribute = new Attribute(each);
      attributes.add(attribute);
      byName.put(attribute.name, attribute);
      domains.add(java.util.Arrays.asList(attribute.name, attribute.domain()));
    }
    require(
        Json.canonical(domains).equals(Json.canonical(meant.get(2))),
        "the meaning asks about other attributes than the document");
    for (Object each : (List<?>) meant.get(3)) {
      questions.add(new Question(questions.size(), (List<?>) each));
    }
    ends = endsOf((List<?>) meant.get(4), questions.size());
    int longest = 0;
    Question most = questions.get(0);
    for (Question each : questions) {
      check(each);
      longest = Math.max(longest, Bytes.bytesOf(each.randomizer.bits()));
      if (each.randomizer.cost().nats(1) > most.randomizer.cost().nats(1)) {
        most = each;
      }
    }
    answerBytes = longest;
    dearest = most;
    checkCosts(document.object("mechanism"));
  }

  /** Reads where the words of the users of each question end. */
  static long[] endsOf(List<?> given, int questions) {
    long[] found = new long[given.size()];
    for (int i = 0; i < found.length; i++) {
      found[i] = (Long) given.get(i);
      require(i == 0 || found[i - 1] <= found[i], "the questions do not share all users");
    }
    require(found.length == questions && found[questions - 1] == Exact.WHOLE, "the questions do not share all users");
    return found;
  }

  /** Requires that the randomizer of a question takes what its attributes can be. */
  private void check(Question question) {
    Randomizer randomizer = question.randomizer;
    long values = 1;
    boolean isNumber = randomizer.kind.equals("piecewise") || randomizer.kind.equals("mean-est");
    require(question.shape == null || !isNumber && !randomizer.kind.equals("bloom"), "numbers have no cells");
    for (int i = 0; i < question.of.length; i++) {
      Attribute attribute = attributes.get(question.of[i]);
      int count = Math.max(1, attribute.values.size());
      if (question.shape != null && attribute.isRange()) {
        count = question.shape[i];
      } else {
        require(
            question.isHashed()
                ? !isNumber && (randomizer.kind.equals("d-bit-flip") ? attribute.isList() : !attribute.isRange())
                : isNumber ? attribute.isRange() : attribute.isList(),
            "a question does not fit its attribute");
        require(question.shape == null || question.shape[i] == count, "a question has other cells than its attribute");
      }
      values = Math.multiplyExact(values, count);
    }
    boolean isCell = question.cohort < 0 && !randomizer.kind.equals("piecewise") && !randomizer.kind.equals("mean-est");
    require(!isCell || randomizer.parameter(0) == values, "a question has other values than its attributes");
    require(!randomizer.kind.equals("mean-est") || randomizer.parameter(0) == question.of.length, "mean-est");
  }

  private static int count(Object given) {
    int count = Math.toIntExact((Long) given);
    require(count >= 1, "an attribute has no cell");
    return count;
  }

  private void checkCosts(Document mechanism) {
    for (Question each : questions) {
      Randomizer randomizer = each.randomizer;
      if (mechanism.has("epsilon")) {
        randomizer.requireAtMost(mechanism.positive("epsilon"), "an answer to question " + each.number);
      }
      if (randomizer.kind.equals("repeated")) {
        require(
            randomizer.cost().nats(1) <= mechanism.positive("per_report") * (1 + 1e-9),
            "a report of question " + each.number + " costs more than the document says");
      }
      if (randomizer.kind.equals("bloom")) {
        require(
            randomizer.parameter(3) == Exact.threshold(mechanism.number("p", 0))
                && randomizer.parameter(4) == Exact.threshold(mechanism.number("q", 1)),
            "the second noise is not that of p and q in the document");
      }
    }
  }

  @Override
  Object held(Map<String, ?> record) {
    requireKnown(record, byName.keySet(), name());
    Object[] found = new Object[attributes.size()];
    for (int i = 0; i < found.length; i++) {
      Attribute attribute = attributes.get(i);
      Object value = field(record, attribute.name);
      if (attribute.isList()) {
        found[i] = attribute.numberOf(value);
      } else if (attribute.isRange()) {
        found[i] = attribute.rangeNumberOf(value);
      } else {
        found[i] = attribute.anyTextOf(value);
      }
    }
    return found;
  }

  private Question asked(Secret secret) {
    return asked(secret.word("stream-ldp qst 1", ownFingerprint()));
  }

  private Question asked(long word) {
    return questions.get(first(ends, word));
  }

  /** Returns the number of the first question whose end is above a word. */
  static int first(long[] ends, long word) {
    int number = 0;
    while (ends[number] <= word) {
      number++;
    }
    return number;
  }

  /** Returns what is held, with a number at the end of its range to which it is rounded permanently, if it is. */
  private Object[] settled(Question question, Object[] held, Secret secret) {
    if (!question.isSettled()) {
      return held;
    }
    int place = question.of[0];
    byte[] nothing = Bytes.writer().bytes(ownFingerprint()).u16(question.number).all();
    Object[] found = held.clone();
    found[place] = attributes.get(place).range[(int) rounded(place, held, ONE_STEP, Words.keyed(secret, ANSWERS, nothing))];
    return found;
  }

  /** Returns all that an answer is made of: the fingerprint, the question, and what is held. */
  private byte[] madeOf(Question question, Object[] held) {
    Bytes.Writer data = Bytes.writer().bytes(ownFingerprint()).u16(question.number);
    if (question.isHashed()) {
      // Values that share their buckets share the answer.
      long[] buckets = bucketsOf(question, held);
      long number = 0;
      for (int i = buckets.length - 1; i >= 0; i--) {
        number = number * question.randomizer.parameter(0) + buckets[i];
      }
      return data.i64(number).all();
    }
    for (int i = 0; i < question.of.length; i++) {
      int place = question.of[i];
      if (held[place] instanceof Integer || question.shape != null) {
        data.i64(cellOf(question, i, held));
      } else {
        data.i64(Double.doubleToLongBits((Double) held[place]));
      }
    }
    return data.all();
  }

  @Override
  public Charge charge(Object held, Secret secret, Secret tags) {
    Charge charge = new Charge(name(), false);
    // With fresh noise, each answers a question of its own, and is charged as the one that costs most.
    Question question = tags == null ? dearest : asked(secret);
    StringBuilder about = new StringBuilder();
    for (int place : question.of) {
      about.append(about.length() > 0 ? " and " : "").append(attributes.get(place).name);
    }
    String responses = fingerprintHex() + " " + question.number;
    String tag =
        tags == null ? null : Charge.tag(tags, madeOf(question, settled(question, (Object[]) held, secret)));
    charge.shown.add(new Charge.Shown(responses, about.toString(), question.randomizer.cost(), tag));
    return charge;
  }

  @Override
  public byte[] row(Object given, Secret key, long timeMs, Words fresh) {
    Question question = key == null ? asked(fresh.next()) : asked(key);
    Object[] held = key == null ? (Object[]) given : settled(question, (Object[]) given, key);
    Words words = key == null ? fresh : Words.keyed(key, ANSWERS, madeOf(question, held));
    Randomizer randomizer = question.randomizer;
    byte[] filter = randomizer.kind.equals("bloom") ? filterOf(question, held) : null;
    long value = filter == null ? inputOf(question, held, words) : 0;
    byte[] answer = randomizer.again(randomizer.answer(value, filter, words), fresh);
    return rowOf(question.number, questions.size(), answer, answerBytes);
  }

  /** Returns the number of a question in as many bytes as it takes, and then an answer, up to the longest. */
  static byte[] rowOf(int number, int questions, byte[] answer, int longest) {
    int said = questions == 1 ? 0 : questions <= 256 ? 1 : 2;
    byte[] row = new byte[said + longest];
    for (int i = 0; i < said; i++) {
      row[i] = (byte) (number >>> (8 * i));
    }
    System.arraycopy(answer, 0, row, said, answer.length);
    return row;
  }

  private String textOf(Question question, Object[] held) {
    Object value = held[question.of[0]];
    return value instanceof String ? (String) value : attributes.get(question.of[0]).values.get((Integer) value);
  }

  private long bucketOf(Question question, long cohort, Object[] held) {
    byte[] data = Bytes.writer().u32(cohort).bytes(Bytes.utf8(textOf(question, held))).all();
    byte[] digest = new Blake2b(new byte[0], "", 8).digest(data);
    return Long.remainderUnsigned(Bytes.i64(digest, 0), question.randomizer.parameter(0));
  }

  /** Returns the bucket of each hash of a question with a cohort. */
  private long[] bucketsOf(Question question, Object[] held) {
    if (question.randomizer.kind.equals("d-bit-flip")) {
      return new long[] {bitOf(question, held)};
    }
    long hashes = question.randomizer.kind.equals("bloom") ? question.randomizer.parameter(1) : 1;
    long[] buckets = new long[(int) hashes];
    for (int i = 0; i < buckets.length; i++) {
      buckets[i] = bucketOf(question, hashes * question.cohort + i, held);
    }
    return buckets;
  }

  /** Returns the place of a value's bit in a cohort, or the number of bits where it has none. */
  private static long bitOf(Question question, Object[] held) {
    long value = (Integer) held[question.of[0]];
    long cohorts = question.randomizer.parameter(2);
    return value % cohorts == question.cohort ? value / cohorts : question.randomizer.parameter(0);
  }

  private byte[] filterOf(Question question, Object[] held) {
    byte[] filter = new byte[Bytes.bytesOf(question.randomizer.bits())];
    for (long bucket : bucketsOf(question, held)) {
      Bytes.setBit(filter, (int) bucket);
    }
    return filter;
  }

  private long inputOf(Question question, Object[] held, Words words) {
    if (question.randomizer.kind.equals("d-bit-flip")) {
      return bitOf(question, held);
    }
    if (question.isHashed()) {
      return bucketOf(question, question.cohort, held);
    }
    if (question.randomizer.kind.equals("piecewise")) {
      return rounded(question.of[0], held, question.randomizer.points(), words);
    }
    long value = 0;
    if (question.randomizer.kind.equals("mean-est")) {
      for (int i = 0; i < question.of.length; i++) {
        value |= rounded(question.of[i], held, ONE_STEP, words) << i;
      }
      return value;
    }
    for (int i = 0; i < question.of.length; i++) {
      int count = question.shape == null ? attributes.get(question.of[i]).values.size() : question.shape[i];
      value = value * count + cellOf(question, i, held);
    }
    return value;
  }

  /** Returns the number of a value, or of the cell that holds a number, of one of the attributes in question. */
  private int cellOf(Question question, int i, Object[] held) {
    int place = question.of[i];
    if (held[place] instanceof Integer) {
      return (Integer) held[place];
    }
    int count = question.shape[i];
    return Math.min((int) Math.floor(placeOf(place, held, count)), count - 1);
  }

  /** Rounds a number at random to one of both next points of a grid, ascending from 0, so that its mean is the number. */
  private long rounded(int place, Object[] held, long[] points, Words words) {
    double y = placeOf(place, held, points[points.length - 1]);
    int below = 0;
    while (below < points.length - 2 && points[below + 1] <= y) {
      below++;
    }
    double share = (y - points[below]) / (points[below + 1] - points[below]);
    return below + (words.next() < (long) Math.rint(share * Exact.WHOLE) ? 1 : 0);
  }

  /** Returns where a number of a range lies from 0 to m. */
  private double placeOf(int place, Object[] held, long m) {
    double least = attributes.get(place).range[0];
    double largest = attributes.get(place).range[1];
    double t = ((Double) held[place] - least) / (largest - least) * 2 - 1;
    return (Math.min(Math.max(t, -1), 1) + 1) / 2 * m;
  }
}
