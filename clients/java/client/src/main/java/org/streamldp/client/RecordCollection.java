package org.streamldp.client;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.Function;

/** Collections of records, with all of their mechanisms: sections 1 to 7 of docs/wire.md. */
final class RecordCollection extends TurnCollection {
  private static final String PERMANENT = "stream-ldp prr 1";
  private static final int PSEUDONYM_BYTES = 8;
  private static final int BLOCK_WORDS = 16;
  private static final int CONTEXT_BYTES = 32;
  private static final int DATA_BYTES = CONTEXT_BYTES + 8;
  private static final ThreadLocal<Blake2bLanes> LANES = ThreadLocal.withInitial(Blake2bLanes::new);

  private final List<Attribute> attributes;
  private final Map<String, Attribute> byName = new LinkedHashMap<>();
  private final Mechanism mechanism;
  private final byte[][] contexts;

  /** Bytes of the digests of permanent words, each length once. */
  private final int[] lengths;

  private final long asked;
  private final long linkedMs;
  private final int pseudonymBytes;

  RecordCollection(Document document, String meaning) {
    this(document, meaning, attributesOf(document));
  }

  private RecordCollection(Document document, String meaning, List<Attribute> attributes) {
    this(document, meaning, attributes, Mechanism.of(document.object("mechanism"), attributes));
  }

  private RecordCollection(Document document, String meaning, List<Attribute> attributes, Mechanism mechanism) {
    super(document, same(meaning, meaningOf(document, attributes, mechanism)), new Turns(document, 1));
    this.attributes = attributes;
    this.mechanism = mechanism;
    for (Attribute each : attributes) {
      byName.put(each.name, each);
    }
    contexts = new byte[attributes.size()][];
    for (int j = 0; j < contexts.length; j++) {
      List<Object> context = new ArrayList<>(Arrays.asList(name(), attributes.get(j).name, attributes.get(j).values));
      context.addAll(mechanism.context(j));
      contexts[j] = Bytes.sha256(Bytes.utf8(Json.canonical(context)));
    }
    lengths = lengths();
    asked = Exact.threshold(document.number("sample", 1));
    linkedMs = document.count("linked", 0);
    pseudonymBytes = linkedMs > 0 ? PSEUDONYM_BYTES : 0;
    require(linkedMs % paneMs() == 0, "linked: expected a whole number of windows, in milliseconds");
    require(linkedMs == 0 || mechanism.hasSecondNoise(), "linked: expected noise in every report");
  }

  private int[] lengths() {
    TreeSet<Integer> found = new TreeSet<>();
    for (int j = 0; j < attributes.size(); j++) {
      int count = mechanism.permanentWords(j);
      if (count >= BLOCK_WORDS) {
        found.add(4 * BLOCK_WORDS);
      }
      if (count % BLOCK_WORDS > 0) {
        found.add(4 * (count % BLOCK_WORDS));
      }
    }
    return found.stream().mapToInt(Integer::intValue).toArray();
  }

  private static List<Attribute> attributesOf(Document document) {
    List<Attribute> found = new ArrayList<>();
    for (Document each : document.objects("attributes")) {
      Attribute attribute = new Attribute(each);
      require(attribute.values.size() >= 2, "attribute \"" + attribute.name + "\" needs two values or more");
      found.add(attribute);
    }
    return found;
  }

  private static List<Object> meaningOf(Document document, List<Attribute> attributes, Mechanism mechanism) {
    List<Object> values = new ArrayList<>();
    for (Attribute each : attributes) {
      values.add(Arrays.asList(each.name, each.values));
    }
    List<Object> found =
        new ArrayList<>(Arrays.asList(document.text("collection"), mechanism.kind(), mechanism.meaning(), values));
    Document window = document.object("window");
    long asked = Exact.threshold(document.number("sample", 1));
    require(asked > 0 && asked <= Exact.WHOLE, "sample: expected a share of the users, above 0 and at most 1");
    if (asked < Exact.WHOLE) {
      found.addAll(Arrays.asList(asked, window.count("hop", window.count("size"))));
    }
    if (document.has("linked")) {
      found.add(Arrays.asList("linked", document.count("linked")));
    }
    found.addAll(new Turns(document, 1).entry());
    return found;
  }

  @Override
  Object held(Map<String, ?> record) {
    requireKnown(record, byName.keySet(), name());
    int[] values = new int[attributes.size()];
    for (int j = 0; j < values.length; j++) {
      Attribute attribute = attributes.get(j);
      values[j] = attribute.numberOf(field(record, attribute.name));
    }
    return values;
  }

  @Override
  List<Inquiry> inquiries(Secret secret, long timeMs, List<Map<String, ?>> rounds) {
    return asks(secret, timeMs) ? super.inquiries(secret, timeMs, rounds) : Collections.emptyList();
  }

  private boolean asks(Secret secret, long timeMs) {
    if (asked == Exact.WHOLE) {
      return true;
    }
    byte[] data = Bytes.writer().bytes(ownFingerprint()).i64(paneOf(timeMs)).all();
    return secret.word("stream-ldp grp 1", data) < asked;
  }

  @Override
  public Charge charge(Object held, Secret secret, Secret tags) {
    int[] values = tags == null ? (int[]) held : mechanism.shown((int[]) held, zeros -> permanentWords(secret, zeros));
    // Reports without permanent noise in common have nothing to be linked for.
    Charge charge = new Charge(name(), linkedMs > 0 && tags != null);
    Blake2b digests = tags == null ? null : tags.digests(Charge.TAG_PERSON, 8);
    byte[] data = new byte[36];
    for (int j = 0; j < values.length; j++) {
      String tag = null;
      if (digests != null) {
        System.arraycopy(contexts[j], 0, data, 0, 32);
        Bytes.put32(data, 32, values[j]);
        tag = Bytes.hex(digests.digest(data));
      }
      charge.shown.add(
          new Charge.Shown(Bytes.hex(contexts[j]), attributes.get(j).name, mechanism.cost(j), tag));
    }
    return charge;
  }

  @Override
  public byte[] row(Object held, Secret key, long timeMs, Words fresh) {
    int[] values = (int[]) held;
    byte[] row = new byte[pseudonymBytes + mechanism.width()];
    if (pseudonymBytes > 0) {
      if (key == null) {
        Bytes.put32(row, 0, fresh.next());
        Bytes.put32(row, 4, fresh.next());
      } else {
        byte[] data = Bytes.writer().bytes(ownFingerprint()).i64(Math.floorDiv(timeMs, linkedMs)).all();
        System.arraycopy(key.keyed("stream-ldp lnk 1", PSEUDONYM_BYTES, data), 0, row, 0, PSEUDONYM_BYTES);
      }
    }
    Words permanent = key == null ? fresh : permanentWords(key, mechanism.keys(values));
    mechanism.fill(row, 8 * pseudonymBytes, values, permanent, fresh);
    return row;
  }

  /** Returns the words of all permanent decisions that a secret determines, one attribute after another. */
  private Words permanentWords(Secret key, int[] values) {
    long[] words = new long[mechanism.permanentWords()];
    byte[][] inputs = new byte[Blake2bLanes.COUNT][];
    int[] places = new int[Blake2bLanes.COUNT];
    for (int length : lengths) {
      Blake2b digests = key.digests(PERMANENT, length);
      int count = 0;
      int place = 0;
      for (int j = 0; j < values.length; j++) {
        int left = mechanism.permanentWords(j);
        for (int block = 0; left > 0; block++, left -= BLOCK_WORDS) {
          int here = Math.min(BLOCK_WORDS, left);
          if (4 * here == length) {
            byte[] data = Arrays.copyOf(contexts[j], DATA_BYTES);
            Bytes.put32(data, CONTEXT_BYTES, values[j]);
            Bytes.put32(data, CONTEXT_BYTES + 4, block);
            inputs[count] = data;
            places[count++] = place;
            if (count == Blake2bLanes.COUNT) {
              digest(digests, length, inputs, places, count, words);
              count = 0;
            }
          }
          place += here;
        }
      }
      digest(digests, length, inputs, places, count, words);
    }
    return new Words() {
      private int used;

      @Override
      public long next() {
        return words[used++];
      }
    };
  }

  /** Writes the words of some digests of one length to their places. */
  private static void digest(Blake2b digests, int length, byte[][] inputs, int[] places, int count, long[] words) {
    if (count >= Blake2bLanes.LEAST) {
      Blake2bLanes lanes = LANES.get();
      lanes.digest(digests, inputs, count, DATA_BYTES);
      for (int lane = 0; lane < count; lane++) {
        for (int i = 0; i < length / 4; i++) {
          words[places[lane] + i] = lanes.word(lane, i);
        }
      }
      return;
    }
    byte[] block = new byte[length];
    for (int each = 0; each < count; each++) {
      digests.digest(inputs[each], DATA_BYTES, block, 0);
      for (int i = 0; i < length / 4; i++) {
        words[places[each] + i] = Bytes.u32(block, 4 * i);
      }
    }
  }

  /** The two stages of noise of a mechanism for records. */
  abstract static class Mechanism {
    final int[] sizes;

    Mechanism(List<Attribute> attributes) {
      this(sizesOf(attributes));
    }

    Mechanism(int[] sizes) {
      this.sizes = sizes;
    }

    static int[] sizesOf(List<Attribute> attributes) {
      return attributes.stream().mapToInt(each -> each.values.size()).toArray();
    }

    static Mechanism of(Document spec, List<Attribute> attributes) {
      switch (spec.text("kind")) {
        case "rr-ldp":
          return new RrLdp(spec, attributes);
        case "k-subset":
          return new KSubset(spec, attributes);
        case "hashed-k-rr":
          return new HashedKRr(spec, attributes);
        default:
          return new KRr(spec, attributes);
      }
    }

    abstract String kind();

    /** Returns what the fingerprint has of it. */
    abstract List<?> meaning();

    /** Returns what the context of an attribute has of it. */
    abstract List<?> context(int j);

    abstract boolean hasSecondNoise();

    /** Returns the bytes of a row without a pseudonym. */
    abstract int width();

    /** Returns the number of words that decide permanently, in all, or of an attribute. */
    abstract int permanentWords();

    abstract int permanentWords(int j);

    /** Writes a report into a row, from a bit on. */
    abstract void fill(byte[] row, int from, int[] values, Words permanent, Words fresh);

    abstract Cost cost(int j);

    /** Returns what permanent words depend on: values, but for hashed ones. */
    int[] keys(int[] values) {
      return values;
    }

    /** Returns what each value costs by: itself, or its bucket, with the words of the user's secret. */
    int[] shown(int[] values, Function<int[], Words> words) {
      return values;
    }
  }

  /** RR-LDP: one-hot code, permanent and then instantaneous randomised response (Chu, Long and Liu, 2022). */
  private static final class RrLdp extends Mechanism {
    private final long f;
    private final long p;
    private final long q;
    private final boolean hasSecondNoise;
    private final int bits;

    RrLdp(Document spec, List<Attribute> attributes) {
      super(attributes);
      f = Exact.threshold(spec.number("f") / 2);
      p = Exact.threshold(spec.number("p", 0));
      q = Exact.threshold(spec.number("q", 1));
      hasSecondNoise = spec.has("p");
      require(spec.has("p") == spec.has("q"), "mechanism: p and q belong together");
      require(f > 0 && f < Exact.WHOLE / 2, "mechanism.f: expected a number between 0 and 1, both excluded");
      require(0 <= p && p < q && q <= Exact.WHOLE, "mechanism: expected 0 <= p < q <= 1");
      int sum = 0;
      for (int size : sizes) {
        sum += size;
      }
      bits = sum;
    }

    @Override
    String kind() {
      return "rr-ldp";
    }

    @Override
    List<?> meaning() {
      return Arrays.asList(f, p, q);
    }

    @Override
    List<?> context(int j) {
      return listOf(f);
    }

    @Override
    boolean hasSecondNoise() {
      return hasSecondNoise;
    }

    @Override
    int width() {
      return Bytes.bytesOf(bits);
    }

    @Override
    int permanentWords() {
      return bits;
    }

    @Override
    int permanentWords(int j) {
      return sizes[j];
    }

    @Override
    void fill(byte[] row, int from, int[] values, Words permanent, Words fresh) {
      // All permanent decisions first: with fresh noise, one source makes both.
      long[] named = new long[(bits + 63) / 64];
      for (int j = 0, bit = 0; j < values.length; bit += sizes[j], j++) {
        named[bit + values[j] >> 6] |= 1L << (bit + values[j] & 63);
      }
      for (int word = 0; word < named.length; word++) {
        named[word] ^= permanent.below(0, f, f, Math.min(64, bits - 64 * word));
      }
      for (int word = 0; word < named.length; word++) {
        int count = Math.min(64, bits - 64 * word);
        long sent = hasSecondNoise ? fresh.below(named[word], p, q, count) : named[word];
        Bytes.putBits(row, from + 64 * word, sent, count);
      }
    }

    @Override
    Cost cost(int j) {
      return Cost.rrLdp(f, p, q);
    }
  }

  /**
   * k-RR: the true value, or with a small chance another one, the same in every report (Wang et al., 2017).
   *
   * <p>With {@code per_report}, every report perturbs that again, with noise of its own (Arcolezi et al., 2021).
   */
  private static class KRr extends Mechanism {
    /** Beyond this many nats no chance is a multiple of 2^-32: e^23 is more than 2^33. */
    private static final double MOST_EPSILON = 23;

    private final double epsilon;
    private final boolean hasSecondNoise;
    final long[] kept;
    final long[] fresh;
    private final int width;

    KRr(Document spec, List<Attribute> attributes) {
      this(spec, sizesOf(attributes));
    }

    KRr(Document spec, int[] sizes) {
      super(sizes);
      epsilon = spec.positive("epsilon");
      hasSecondNoise = spec.has("per_report");
      kept = new long[sizes.length];
      fresh = new long[sizes.length];
      int bits = 0;
      for (int j = 0; j < sizes.length; j++) {
        int others = sizes[j] - 1;
        kept[j] = epsilon > MOST_EPSILON ? 0 : keptOf(epsilon, others);
        fresh[j] = hasSecondNoise ? freshOf(spec.positive("per_report"), others, kept[j]) : Exact.WHOLE;
        require(isPossible(kept[j], others), "mechanism.epsilon: beyond the resolution of 2^-32");
        require(
            !hasSecondNoise || isPossible(fresh[j], others) && spec.number("per_report") < epsilon,
            "mechanism.per_report: expected less than epsilon, within the resolution of 2^-32");
        bits += Bytes.width(sizes[j]);
      }
      width = Bytes.bytesOf(bits);
    }

    private static boolean isPossible(long kept, int others) {
      return kept < Exact.WHOLE && kept > (Exact.WHOLE - kept) / others;
    }

    private static long keptOf(double epsilon, int others) {
      BigInteger odds = Exact.exp(epsilon).add(Exact.whole(others));
      BigInteger run = Exact.whole(Exact.WHOLE).add(odds).subtract(BigInteger.ONE).divide(odds);
      return Exact.WHOLE - others * run.longValueExact();
    }

    private static long freshOf(double perReport, int others, long kept) {
      if (kept == 0) {
        return 0;
      }
      BigInteger e = Exact.exp(perReport);
      BigInteger one = BigInteger.valueOf(Exact.WHOLE);
      BigInteger p = BigInteger.valueOf(kept);
      BigInteger q = BigInteger.valueOf((Exact.WHOLE - kept) / others);
      // The numerator and denominator of docs/wire.md, section 5, in units of 2^-288.
      BigInteger x = e.multiply(one.subtract(q)).subtract(one.subtract(p).multiply(Exact.ONE));
      BigInteger against =
          x.add(BigInteger.valueOf(others).multiply(p.multiply(Exact.ONE).subtract(e.multiply(q))));
      long a = Exact.share(x, against);
      long run = (Exact.WHOLE - a + others - 1) / others;
      return Exact.WHOLE - others * run;
    }

    @Override
    String kind() {
      return "k-rr";
    }

    @Override
    List<?> meaning() {
      List<Object> found = new ArrayList<>();
      for (int j = 0; j < sizes.length; j++) {
        found.add(hasSecondNoise ? Arrays.asList(kept[j], fresh[j]) : (Object) kept[j]);
      }
      return found;
    }

    @Override
    List<?> context(int j) {
      return hasSecondNoise ? Arrays.asList("k-rr", kept[j], fresh[j]) : Arrays.asList("k-rr", kept[j]);
    }

    @Override
    boolean hasSecondNoise() {
      return hasSecondNoise;
    }

    @Override
    int width() {
      return width;
    }

    @Override
    int permanentWords() {
      return sizes.length;
    }

    @Override
    int permanentWords(int j) {
      return 1;
    }

    static long shifted(long value, long word, long kept, int size) {
      return word < kept ? value : (value + 1 + (word - kept) / ((Exact.WHOLE - kept) / (size - 1))) % size;
    }

    @Override
    void fill(byte[] row, int from, int[] values, Words permanent, Words again) {
      long[] named = new long[values.length];
      for (int j = 0; j < values.length; j++) {
        named[j] = shifted(values[j], permanent.next(), kept[j], sizes[j]);
      }
      int bit = from;
      for (int j = 0; j < values.length; j++) {
        int count = Bytes.width(sizes[j]);
        Bytes.putBits(row, bit, hasSecondNoise ? shifted(named[j], again.next(), fresh[j], sizes[j]) : named[j], count);
        bit += count;
      }
    }

    @Override
    Cost cost(int j) {
      return hasSecondNoise ? Cost.repeated(sizes[j], kept[j], fresh[j]) : Cost.once(epsilon);
    }
  }

  /**
   * k-RR of hashed values: LOLOHA for records (Arcolezi et al., 2023).
   *
   * <p>A user has one permanent hash of each attribute, its cohort, and k-RR with fresh noise reports the bucket.
   */
  private static final class HashedKRr extends KRr {
    private static final List<Long> BUCKETS = Arrays.asList(2L, 3L, 5L, 7L, 11L, 13L);

    private final int base;

    /** The numbers of the cohorts of each attribute, whose digits multiply those of values. */
    private final int[][] cohorts;

    private final int[] widths;
    private final int bytes;

    HashedKRr(Document spec, List<Attribute> attributes) {
      super(spec, bucketsOf(spec, attributes));
      require(hasSecondNoise(), "mechanism: hashed-k-rr needs per_report");
      base = baseOf(spec);
      cohorts = new int[sizes.length][];
      widths = new int[sizes.length];
      int bits = 0;
      for (int j = 0; j < sizes.length; j++) {
        cohorts[j] = cohortsOf(attributes.get(j).values.size());
        widths[j] = Bytes.width(cohorts[j].length * sizes[j]);
        bits += widths[j];
      }
      bytes = Bytes.bytesOf(bits);
    }

    private static int baseOf(Document spec) {
      long base = spec.has("buckets") ? spec.count("buckets") : 2;
      require(BUCKETS.contains(base), "mechanism.buckets: expected one of " + BUCKETS);
      return (int) base;
    }

    private static int[] bucketsOf(Document spec, List<Attribute> attributes) {
      return attributes.stream().mapToInt(each -> Math.min(each.values.size(), baseOf(spec))).toArray();
    }

    /** Returns the numbers whose highest digit is 1, of as many digits as values have. */
    private int[] cohortsOf(int values) {
      List<Integer> found = new ArrayList<>();
      int place = 1;
      do {
        for (int number = place; number < 2 * place; number++) {
          found.add(number);
        }
        place *= base;
      } while (place < values);
      return found.stream().mapToInt(Integer::intValue).toArray();
    }

    private int cohort(int j, long word) {
      long run = Exact.WHOLE / cohorts[j].length;
      long first = Exact.WHOLE - (cohorts[j].length - 1) * run;
      return word < first ? 0 : 1 + (int) ((word - first) / run);
    }

    private int bucket(int j, int cohort, int value) {
      int sum = 0;
      for (int left = value, number = cohorts[j][cohort]; left > 0; left /= base, number /= base) {
        sum += left % base * (number % base);
      }
      return sum % base;
    }

    @Override
    String kind() {
      return "hashed-k-rr";
    }

    @Override
    List<?> meaning() {
      List<Object> found = new ArrayList<>();
      for (int j = 0; j < sizes.length; j++) {
        found.add(Arrays.asList(sizes[j], kept[j], fresh[j]));
      }
      return found;
    }

    @Override
    List<?> context(int j) {
      return Arrays.asList("hashed-k-rr", sizes[j], kept[j], fresh[j]);
    }

    @Override
    int width() {
      return bytes;
    }

    @Override
    int permanentWords() {
      return sizes.length + Arrays.stream(sizes).sum();
    }

    @Override
    int permanentWords(int j) {
      return 1 + sizes[j];
    }

    @Override
    int[] keys(int[] values) {
      return new int[values.length];
    }

    @Override
    int[] shown(int[] values, Function<int[], Words> words) {
      Words permanent = words.apply(keys(values));
      int[] found = new int[values.length];
      for (int j = 0; j < values.length; j++) {
        found[j] = bucket(j, cohort(j, permanent.next()), values[j]);
        for (int i = 0; i < sizes[j]; i++) {
          permanent.next();
        }
      }
      return found;
    }

    @Override
    void fill(byte[] row, int from, int[] values, Words permanent, Words again) {
      int[] chosen = new int[values.length];
      long[] named = new long[values.length];
      for (int j = 0; j < values.length; j++) {
        chosen[j] = cohort(j, permanent.next());
        int bucket = bucket(j, chosen[j], values[j]);
        for (int i = 0; i < sizes[j]; i++) {
          long word = permanent.next();
          named[j] = i == bucket ? shifted(bucket, word, kept[j], sizes[j]) : named[j];
        }
      }
      int bit = from;
      for (int j = 0; j < values.length; j++) {
        long sent = shifted(named[j], again.next(), fresh[j], sizes[j]);
        Bytes.putBits(row, bit, (long) chosen[j] * sizes[j] + sent, widths[j]);
        bit += widths[j];
      }
    }
  }

  /**
   * k-Subset: a random set of each attribute's values, the same in every report (Ye and Barg, 2018).
   *
   * <p>The values are ordered in a circle by a word each, and one more decides where a run of members begins.
   */
  private static final class KSubset extends Mechanism {
    private static final int MOST_VALUES = 62;

    private final double epsilon;
    private final int[] members;
    private final long[] kept;
    private final int bits;

    KSubset(Document spec, List<Attribute> attributes) {
      super(attributes);
      epsilon = spec.positive("epsilon");
      members = new int[sizes.length];
      kept = new long[sizes.length];
      BigInteger e = Exact.exp(Math.min(epsilon, KRr.MOST_EPSILON));
      int sum = 0;
      for (int j = 0; j < sizes.length; j++) {
        require(sizes[j] <= MOST_VALUES, "mechanism: k-subset is for attributes of at most 62 values");
        members[j] = best(e, sizes[j]);
        int others = sizes[j] - members[j];
        BigInteger odds = e.multiply(BigInteger.valueOf(members[j])).add(Exact.whole(others));
        long run =
            Exact.whole(Exact.WHOLE + members[j] - 1).add(odds).subtract(BigInteger.ONE).divide(odds).longValueExact();
        kept[j] = Exact.WHOLE - others * run;
        require(
            epsilon <= KRr.MOST_EPSILON && run * sizes[j] < Exact.WHOLE && odds.compareTo(Exact.whole(Exact.WHOLE)) <= 0,
            "mechanism.epsilon: beyond the resolution of 2^-32");
        sum += sizes[j];
      }
      bits = sum;
    }

    /** Returns the number of members with which a set says most: the one before the first that says less. */
    private static int best(BigInteger e, int size) {
      int found = 1;
      while (found + 1 < size
          && above(e, size, found + 1).multiply(below(size, found))
              .compareTo(above(e, size, found).multiply(below(size, found + 1))) < 0) {
        found++;
      }
      return found;
    }

    private static BigInteger above(BigInteger e, int size, int members) {
      return e.multiply(BigInteger.valueOf(members)).add(Exact.whole(size - members)).pow(2);
    }

    private static BigInteger below(int size, int members) {
      return BigInteger.valueOf((long) members * (size - members));
    }

    @Override
    String kind() {
      return "k-subset";
    }

    @Override
    List<?> meaning() {
      List<Object> found = new ArrayList<>();
      for (int j = 0; j < sizes.length; j++) {
        found.add(Arrays.asList(members[j], kept[j]));
      }
      return found;
    }

    @Override
    List<?> context(int j) {
      return Arrays.asList("k-subset", members[j], kept[j]);
    }

    @Override
    boolean hasSecondNoise() {
      return false;
    }

    @Override
    int width() {
      return Bytes.bytesOf(bits);
    }

    @Override
    int permanentWords() {
      return bits + sizes.length;
    }

    @Override
    int permanentWords(int j) {
      return sizes[j] + 1;
    }

    @Override
    void fill(byte[] row, int from, int[] values, Words permanent, Words fresh) {
      int bit = from;
      for (int j = 0; j < values.length; bit += sizes[j], j++) {
        // The word above the number of its value: sorted, equal words leave values in their order.
        long[] order = new long[sizes[j]];
        for (int i = 0; i < order.length; i++) {
          order[i] = permanent.next() << 6 | i;
        }
        Arrays.sort(order);
        int place = 0;
        while ((order[place] & 63) != values[j]) {
          place++;
        }
        long word = permanent.next();
        long back =
            word < kept[j]
                ? word * members[j] / kept[j]
                : members[j] + (word - kept[j]) / ((Exact.WHOLE - kept[j]) / (sizes[j] - members[j]));
        int first = place - (int) back + sizes[j];
        long held = 0;
        for (int i = 0; i < members[j]; i++) {
          held |= 1L << (order[(first + i) % sizes[j]] & 63);
        }
        Bytes.putBits(row, bit, held, sizes[j]);
      }
    }

    @Override
    Cost cost(int j) {
      return Cost.once(epsilon);
    }
  }
}
