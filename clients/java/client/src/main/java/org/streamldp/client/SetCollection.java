package org.streamldp.client;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/** Collections of item sets, whose users are asked in phases: sections 9 to 14 of docs/wire.md. */
final class SetCollection extends CollectionSpec {
  private static final String ITEMS = "items";

  /** A tenth of a window, at most half a second: what a report needs on its way before the window closes. */
  private static final long MARGIN_PART = 10;

  private static final long MOST_MARGIN_MS = 500;

  /** Words of the users who are asked about items, and about how many itemsets they hold: section 9. */
  private static final long ITEMS_END = 1_717_986_918L;

  private static final long COUNT_END = 2_233_382_994L;

  private static final long MOST_OF_AN_ITEMSET = 4;

  /** Words of the users who are asked how large their sets are, most classes of sizes, and most slots: section 9. */
  private static final long SIZES_END = 429_496_730L;

  private static final long MOST_CLASSES = 8;
  private static final long MOST_SLOTS = 128;

  private static final String COUNT = "count";
  private static final String SIZE = "size";
  private static final String ITEM = "item";

  private final Method method;
  private final Map<String, Integer> numbers = new HashMap<>();

  SetCollection(Document document, String meaning) {
    this(document, meaning, new Method(document));
  }

  private SetCollection(Document document, String meaning, Method method) {
    super(document, same(meaning, method.meaning(document.text("collection"))), method.turns);
    this.method = method;
    if (method.names != null) {
      for (String each : method.names) {
        numbers.put(each, numbers.size());
      }
    }
  }

  /** A phase of an epoch: what it asks for, whom, and what a report to it may cost. */
  private static final class Phase {
    /** What is asked for: an item, a count or a size. */
    final String asks;

    final long from;
    final long end;
    final double epsilon;

    /** Numbers of items of the itemsets it asks about, ascending; none where it asks about single items. */
    final List<Long> sizes;

    Phase(String asks, long from, long end, double epsilon) {
      this(asks, from, end, epsilon, Collections.emptyList());
    }

    Phase(String asks, long from, long end, double epsilon, List<Long> sizes) {
      this.asks = asks;
      this.from = from;
      this.end = end;
      this.epsilon = epsilon;
      this.sizes = sizes;
    }

    /** The same phase, which asks so many of all words. */
    Phase of(long words) {
      return new Phase(asks, part(from, words), part(end, words), epsilon, sizes);
    }

    /** The same phase, of the users who are not asked for sizes. */
    Phase ofOthers() {
      long others = Exact.WHOLE - SIZES_END;
      return new Phase(asks, SIZES_END + part(from, others), SIZES_END + part(end, others), epsilon, sizes);
    }

    boolean asksItem() {
      return asks.equals(ITEM);
    }

    private static long part(long bound, long words) {
      return BigInteger.valueOf(bound).multiply(BigInteger.valueOf(words)).shiftRight(32).longValueExact();
    }
  }

  /** The method of a file: its phases, and the response of each. */
  private static final class Method {
    final String kind;
    final double epsilon;
    final long slots;
    final boolean asksSizes;
    final long hashBits;
    final long permanent;
    final long fresh;
    final List<String> names;
    final long items;
    final long sizeMs;
    final boolean isPipelined;
    final Turns turns;
    final List<Phase> phases = new ArrayList<>();

    Method(Document document) {
      Document spec = document.object("mechanism");
      kind = spec.text("kind");
      epsilon = spec.positive("epsilon");
      asksSizes = "ask".equals(spec.value("set_size")) && !kind.equals("loloha");
      slots = asksSizes ? 1 : spec.count("set_size", 1);
      boolean isLoloha = kind.equals("loloha");
      hashBits = isLoloha ? 1 : spec.count("hash_bits", 0);
      double lifetime = spec.number("lifetime", Math.min(2 * epsilon, 22));
      permanent = isLoloha ? permanentOf(lifetime) : 0;
      fresh = isLoloha ? freshOf(epsilon, permanent) : 0;
      require(!isLoloha || lifetime > epsilon, "mechanism.lifetime: expected more than epsilon");
      Document of = document.object(ITEMS);
      names = of.has("names") ? of.names("names") : null;
      items = names == null ? of.count("size") : names.size();
      require(items <= Integer.MAX_VALUE, "items.size: expected at most 2^31 - 1");
      sizeMs = document.object("window").count("size");
      isPipelined = document.text("epochs", "sequential").equals("pipelined");
      long asked = Exact.threshold(document.number("sample", 1));
      require(asked > 0 && asked <= Exact.WHOLE, "sample: expected a share of the users, above 0 and at most 1");
      List<Phase> every = new ArrayList<>();
      if (asksSizes) {
        every.add(new Phase(SIZE, 0, SIZES_END, epsilon));
      }
      for (Phase each : phasesOf(spec)) {
        every.add(asksSizes ? each.ofOthers() : each);
      }
      if (document.has("itemsets")) {
        require(!isLoloha, "itemsets: loloha asks about none");
        every = withItemsets(every, sizesOf(document.object("itemsets")));
      }
      for (Phase each : every) {
        phases.add(each.of(asked));
      }
      turns = new Turns(document, isPipelined ? 1 : phases.size());
    }

    private static List<Long> sizesOf(Document itemsets) {
      TreeSet<Long> sizes = new TreeSet<>();
      for (Object each : itemsets.has("sizes") ? itemsets.list("sizes") : Arrays.asList(2L)) {
        boolean isSize = each instanceof Long && (Long) each >= 2 && (Long) each <= MOST_OF_AN_ITEMSET;
        require(isSize, "itemsets.sizes: expected whole numbers from 2 to 4");
        sizes.add((Long) each);
      }
      require(!sizes.isEmpty(), "itemsets.sizes: expected whole numbers from 2 to 4");
      return new ArrayList<>(sizes);
    }

    private List<Phase> withItemsets(List<Phase> ofItems, List<Long> sizes) {
      List<Phase> found = new ArrayList<>();
      for (Phase each : ofItems) {
        found.add(each.of(ITEMS_END));
      }
      found.add(new Phase(COUNT, ITEMS_END, COUNT_END, epsilon, sizes));
      found.add(new Phase(ITEM, COUNT_END, Exact.WHOLE, epsilon, sizes));
      return found;
    }

    private static long permanentOf(double lifetime) {
      BigInteger e = Exact.exp(lifetime);
      return Exact.share(e, e.add(Exact.ONE));
    }

    private static long freshOf(double epsilon, long permanent) {
      BigInteger p = BigInteger.valueOf(permanent);
      BigInteger other = BigInteger.valueOf(Exact.WHOLE - permanent);
      BigInteger r = Exact.exp(epsilon);
      BigInteger part = p.multiply(r).subtract(other.multiply(Exact.ONE));
      BigInteger beside = p.multiply(Exact.ONE).subtract(other.multiply(r));
      return Exact.share(part, part.add(beside));
    }

    private List<Phase> phasesOf(Document spec) {
      List<?> split = spec.has("split") ? spec.list("split") : Arrays.asList(0.6, 0.4);
      double s0 = ((Number) split.get(0)).doubleValue();
      double s1 = ((Number) split.get(1)).doubleValue();
      long half = Exact.WHOLE / 2;
      switch (kind) {
        case "gfim":
          double first = s0 >= s1 ? epsilon * s0 : epsilon - epsilon * s1;
          double later = s0 >= s1 ? epsilon - first : epsilon * s1;
          return Arrays.asList(
              new Phase(ITEM, 0, Exact.WHOLE, first),
              new Phase(ITEM, 0, half, later),
              new Phase(ITEM, half, Exact.WHOLE, later));
        case "gfim-users":
          long a = Exact.threshold(s0);
          long b = (a + Exact.WHOLE) / 2;
          return Arrays.asList(
              new Phase(ITEM, 0, a, epsilon),
              new Phase(ITEM, a, b, epsilon),
              new Phase(ITEM, b, Exact.WHOLE, epsilon));
        case "ldpminer":
          return Arrays.asList(
              new Phase(ITEM, 0, Exact.WHOLE, epsilon / 2), new Phase(ITEM, 0, Exact.WHOLE, epsilon / 2));
        case "svim":
          long c = 1_717_986_918L;
          return Arrays.asList(
              new Phase(ITEM, 0, c, epsilon),
              new Phase(COUNT, c, half, epsilon),
              new Phase(ITEM, half, Exact.WHOLE, epsilon));
        default:
          return listOf(new Phase(ITEM, 0, Exact.WHOLE, epsilon));
      }
    }

    boolean memoises() {
      return kind.equals("loloha");
    }

    List<Object> meaning(String name) {
      List<Object> lists = new ArrayList<>();
      for (Phase each : phases) {
        List<Object> list =
            new ArrayList<>(Arrays.asList(each.asks, each.from, each.end, each.epsilon));
        if (memoises()) {
          list.addAll(Arrays.asList(permanent, fresh));
        }
        if (!each.sizes.isEmpty()) {
          list.add(each.sizes);
        }
        lists.add(list);
      }
      List<Object> found =
          new ArrayList<>(
              Arrays.asList(
                  name,
                  kind,
                  lists,
                  slots,
                  hashBits == 0 ? null : hashBits,
                  names == null ? (Object) items : names,
                  sizeMs,
                  isPipelined ? "pipelined" : "sequential"));
      found.addAll(turns.entry());
      return found;
    }
  }

  @Override
  boolean hasRounds() {
    return method.phases.size() > 1;
  }

  @Override
  Object held(Map<String, ?> record) {
    requireKnown(record, listOf(ITEMS), name());
    Object given = field(record, ITEMS);
    if (!(given instanceof Iterable)) {
      throw new DataException("items needs a list or a set of names: nothing was sent");
    }
    TreeSet<Integer> found = new TreeSet<>();
    for (Object each : (Iterable<?>) given) {
      found.add(numberOf(Attribute.textOf(each)));
    }
    int[] items = new int[found.size()];
    int place = 0;
    for (int each : found) {
      items[place++] = each;
    }
    return items;
  }

  private int numberOf(String item) {
    Integer known = numbers.get(item);
    if (known != null) {
      return known;
    }
    if (method.names == null && item != null && item.matches("0|[1-9][0-9]{0,9}") && Long.parseLong(item) < method.items) {
      return Integer.parseInt(item);
    }
    throw new DataException("an item is none of collection \"" + name() + "\": nothing was sent");
  }

  @Override
  List<Inquiry> inquiries(Secret secret, long timeMs, List<Map<String, ?>> rounds) {
    long window = paneOf(timeMs);
    List<Inquiry> found = new ArrayList<>();
    long closes = (window + 1) * method.sizeMs - Math.min(MOST_MARGIN_MS, method.sizeMs / MARGIN_PART);
    if (timeMs >= closes) {
      return found;
    }
    int count = method.phases.size();
    for (int phase = 1; phase <= count; phase++) {
      if (!method.isPipelined && Math.floorMod(window, (long) count) != phase - 1) {
        continue;
      }
      long epoch = method.isPipelined ? window - phase + 1 : Math.floorDiv(window, (long) count);
      Phase asks = method.phases.get(phase - 1);
      byte[] data = Bytes.writer().bytes(ownFingerprint()).i64(epoch).all();
      long word = secret.word("stream-ldp grp 1", data);
      if (word < asks.from || word >= asks.end || !turns.has(secret, ownFingerprint(), epoch)) {
        continue;
      }
      if (phase == 1) {
        found.add(new Round(phase, epoch, null, method.slots, false));
      } else {
        Round last = null;
        for (Map<String, ?> each : rounds) {
          Round trusted = trusted(each, phase, epoch, window * method.sizeMs);
          last = trusted == null ? last : trusted;
        }
        if (last != null) {
          found.add(last);
        }
      }
    }
    return found;
  }

  /**
   * Reads the round of a phase, or returns null: a report reveals no more than the collection file allows, whoever wrote
   * the round.
   */
  private Round trusted(Map<String, ?> round, int phase, long epoch, long startMs) {
    try {
      boolean isOurs =
          round.get("schema_version").equals(1L)
              && round.get("collection_fingerprint").equals(fingerprintHex())
              && round.get("phase").equals((long) phase)
              && round.get("epoch").equals(epoch)
              && round.get("start_ms").equals(startMs)
              && round.get("end_ms").equals(startMs + method.sizeMs)
              && ((Number) round.get("epsilon")).doubleValue() <= method.phases.get(phase - 1).epsilon;
      if (!isOurs) {
        return null;
      }
      List<?> given = (List<?>) round.get("candidates");
      long slots = (Long) round.get("padding");
      boolean lacks = round.containsKey("missing") && (Boolean) round.get("missing");
      // What sets lack is asked for after a count of what they hold.
      if (lacks && !method.phases.get(phase - 2).asks.equals(COUNT)) {
        return null;
      }
      if (method.asksSizes && phase == 2) {
        boolean isAsked = round.containsKey("candidates") && given == null;
        return isAsked && slots >= 1 && slots <= Math.min(method.items, MOST_SLOTS)
            ? new Round(phase, epoch, null, slots, false)
            : null;
      }
      List<Long> sizes = method.phases.get(phase - 1).sizes;
      int[][] candidates = new int[given.size()][];
      for (int i = 0; i < candidates.length; i++) {
        candidates[i] = sizes.isEmpty() ? ascending(listOf(given.get(i))) : ascending((List<?>) given.get(i));
        boolean isAsked = sizes.isEmpty() || sizes.contains((long) candidates[i].length);
        if (!isAsked || i > 0 && Arrays.compare(candidates[i - 1], candidates[i]) >= 0) {
          return null;
        }
      }
      return slots < 1 || slots > candidates.length ? null : new Round(phase, epoch, candidates, slots, lacks);
    } catch (ClassCastException | NullPointerException wrong) {
      return null;
    }
  }

  /** Returns numbers of items, each above the one before it; throws a ClassCastException where they are none. */
  private int[] ascending(List<?> given) {
    int[] items = new int[given.size()];
    for (int i = 0; i < items.length; i++) {
      long item = (Long) given.get(i);
      if (item < 0 || item >= method.items || i > 0 && items[i - 1] >= item) {
        throw new ClassCastException("no items in ascending order");
      }
      items[i] = (int) item;
    }
    return items;
  }

  /** What one phase of one epoch asks: all items, or candidates. */
  private final class Round implements Inquiry {
    private final int phase;
    private final long epoch;

    /** The items of each candidate, one but of itemsets; null where all items are. */
    private final int[][] candidates;

    private final long slots;

    /** Whether the candidates that a set lacks are asked for, in place of those that it holds. */
    private final boolean lacks;

    private final byte[] carried;

    Round(int phase, long epoch, int[][] candidates, long slots, boolean lacks) {
      this.phase = phase;
      this.epoch = epoch;
      this.candidates = candidates;
      this.slots = slots;
      this.lacks = lacks;
      boolean isOfItemsets = !method.phases.get(phase - 1).sizes.isEmpty();
      List<Object> listed = new ArrayList<>();
      if (candidates != null) {
        for (int[] each : candidates) {
          List<Object> items = new ArrayList<>();
          for (int item : each) {
            items.add(item);
          }
          listed.add(isOfItemsets ? items : items.get(0));
        }
      }
      List<Object> named = candidates == null ? null : listed;
      List<Object> meaning = new ArrayList<>(Arrays.asList(fingerprintHex(), epoch, phase, named, slots));
      if (lacks) {
        meaning.add(true);
      }
      carried = phase == 1 ? ownFingerprint() : fingerprintOf(Json.canonical(meaning));
    }

    @Override
    public byte[] carried() {
      return carried;
    }

    @Override
    public Turns.Turn turn(long timeMs) {
      return turns.turn(fingerprintHex(), epoch, true);
    }

    @Override
    public Charge charge(Object held, Secret secret, Secret tags) {
      double epsilon = method.memoises() ? 0 : method.phases.get(phase - 1).epsilon;
      Charge charge = new Charge(name(), false, fingerprintHex(), phase, epoch, epsilon);
      if (method.memoises()) {
        long sign = sign((int[]) held, purposes(secret));
        byte[] data = Bytes.writer().bytes(ownFingerprint()).bytes(Bytes.utf8("sign")).u8(sign).all();
        String tag = tags == null ? null : Charge.tag(tags, data);
        Cost cost = Cost.loloha(method.permanent, method.fresh);
        charge.shown.add(new Charge.Shown(fingerprintHex(), "sign of the set", cost, tag));
      }
      return charge;
    }

    @Override
    public byte[] row(Object given, Secret key, long timeMs, Words fresh) {
      int[] held = (int[]) given;
      if (method.memoises()) {
        return loloha(held, key == null ? any -> fresh : purposes(key), fresh);
      }
      int[] items = restricted(held);
      Phase asks = method.phases.get(phase - 1);
      long n = candidates == null ? method.items : candidates.length;
      if (asks.asks.equals(SIZE)) {
        long classes = Math.min(MOST_CLASSES, Bytes.width(n) + 1L);
        int size = items.length > 1 ? Bytes.width(items.length) : 0;
        return Response.of(method, phase, asks, classes, slots).report(Math.min(classes - 1, size), fresh);
      }
      if (asks.asks.equals(COUNT)) {
        return Response.of(method, phase, asks, n + 1, slots).report(items.length, fresh);
      }
      Response response = Response.of(method, phase, asks, n, slots);
      if (response.kind.equals("set-hadamard")) {
        return response.reportSet(items, fresh);
      }
      long slot = fresh.uniform(Math.max(slots, items.length));
      return response.report(slot < items.length ? items[(int) slot] : n + slot - items.length, fresh);
    }

    private int[] restricted(int[] held) {
      if (candidates == null) {
        return held;
      }
      int[] found = new int[candidates.length];
      int count = 0;
      for (int place = 0; place < candidates.length; place++) {
        boolean isHeld = true;
        for (int item : candidates[place]) {
          isHeld &= Arrays.binarySearch(held, item) >= 0;
        }
        if (isHeld != lacks) {
          found[count++] = place;
        }
      }
      return Arrays.copyOf(found, count);
    }
  }

  /** Sources of words, one for each purpose. */
  private interface Purposes {
    Words of(byte[] purpose);
  }

  private Purposes purposes(Secret key) {
    return purpose ->
        Words.keyed(key, "stream-ldp lol 1", Bytes.writer().bytes(ownFingerprint()).bytes(purpose).all());
  }

  private long rowIndex(Purposes purposes) {
    return purposes.of(Bytes.utf8("row")).uniform(1L << Bytes.width(method.items));
  }

  private long sign(int[] held, Purposes purposes) {
    long index = rowIndex(purposes);
    Bytes.Writer purpose = Bytes.writer().bytes(Bytes.utf8("set"));
    for (int each : held) {
      purpose.u32(each);
    }
    return sign(held, index, purposes.of(purpose.all()));
  }

  private long sign(int[] held, long index, Words words) {
    long slot = words.uniform(Math.max(method.slots, held.length));
    return slot < held.length ? Long.bitCount(index & held[(int) slot]) & 1 : words.uniform(2);
  }

  private byte[] loloha(int[] held, Purposes purposes, Words fresh) {
    long index = rowIndex(purposes);
    Bytes.Writer purpose = Bytes.writer().bytes(Bytes.utf8("set"));
    for (int each : held) {
      purpose.u32(each);
    }
    long sign = sign(held, index, purposes.of(purpose.all()));
    Words decides = purposes.of(Bytes.writer().bytes(Bytes.utf8("sign")).u8(sign).all());
    long permanent = decides.next() < method.permanent ? sign : 1 - sign;
    long sent = fresh.next() < method.fresh ? permanent : 1 - permanent;
    int width = Bytes.width(method.items);
    byte[] row = new byte[Bytes.bytesOf(width + 1)];
    Bytes.putBits(row, 0, index, width);
    Bytes.putBits(row, width, sent, 1);
    return row;
  }

  /** The response of a phase: section 12 of docs/wire.md. All its randomness is fresh. */
  static final class Response {
    final String kind;
    final int t;
    final long kept;
    private final long n;
    private final long slots;

    /** Values and dummies, of which one is sent by {@code direct}. */
    private final long choices;

    private Response(String kind, int t, long kept, long n, long slots, long choices) {
      this.kind = kind;
      this.t = t;
      this.kept = kept;
      this.n = n;
      this.slots = slots;
      this.choices = choices;
    }

    private static Response of(Method method, int phase, Phase asks, long n, long slots) {
      double epsilon = asks.epsilon;
      if (method.kind.equals("ldpminer") && phase == (method.asksSizes ? 3 : 2)) {
        return unary(epsilon, n);
      }
      if (method.hashBits > 0) {
        return hadamard(epsilon, n, (int) method.hashBits);
      }
      return best(epsilon, n, !asks.asksItem(), slots);
    }

    static Response unary(double epsilon, long n) {
      BigInteger odds = n == 1 ? Exact.exp(epsilon) : Exact.exp(new BigDecimal(epsilon), 2);
      return new Response("unary", 0, Exact.share(odds, odds.add(Exact.ONE)), n, 1, n);
    }

    static Response hadamard(double epsilon, long n, int t) {
      BigInteger odds = Exact.exp(epsilon);
      return new Response("hadamard", t, Exact.share(odds, odds.add(Exact.whole((1L << t) - 1))), n, 1, n);
    }

    static Response setHadamard(double epsilon, long n, int t, long slots) {
      BigInteger odds = Exact.exp(epsilon);
      BigInteger of = Exact.whole((1L << t) - slots).add(odds.multiply(BigInteger.valueOf(slots)));
      return new Response("set-hadamard", t, Exact.share(odds, of), n, slots, n);
    }

    static Response direct(double epsilon, long n, boolean isCount, long slots) {
      BigInteger odds = Exact.exp(epsilon);
      long choices = n;
      if (!isCount) {
        odds = odds.subtract(Exact.ONE).multiply(BigInteger.valueOf(slots)).add(Exact.ONE);
        choices = n + slots;
      }
      return new Response("direct", 0, Exact.share(odds, odds.add(Exact.whole(choices - 1))), n, slots, choices);
    }

    private static double variance(double p, double q, double f) {
      double s = q + f * (p - q);
      return s * (1 - s) / ((p - q) * (p - q));
    }

    /** Returns the response whose estimates vary least; where several do, the first of them. */
    static Response best(double epsilon, long n, boolean isCount, long slots) {
      double e = Math.exp(epsilon);
      double m = isCount ? 0 : Math.min((double) slots / n, 1);
      double size = isCount ? 1 : slots;
      double k = isCount ? n : n + slots;
      double odds = isCount ? e : slots * (e - 1) + 1;
      double p = odds / (odds + k - 1);
      double least = size * size * variance(p, (1 - p) / (k - 1), m / size);
      int best = 0;
      for (int t = 1; t <= 8; t++) {
        double found = size * size * variance(e / (e + (1 << t) - 1), 1.0 / (1 << t), m / size);
        if (found < least) {
          least = found;
          best = t;
        }
      }
      int bestOfSets = 0;
      for (int t = 1; t <= 8 && !isCount && slots > 1; t++) {
        if ((1 << t) < 2 * slots) {
          continue;
        }
        double found = variance(e / ((1 << t) - slots + slots * e), 1.0 / (1 << t), m);
        if (found < least) {
          least = found;
          bestOfSets = t;
        }
      }
      if (bestOfSets > 0) {
        return setHadamard(epsilon, n, bestOfSets, slots);
      }
      return best > 0 ? hadamard(epsilon, n, best) : direct(epsilon, n, isCount, slots);
    }

    int bits() {
      switch (kind) {
        case "direct":
          return Bytes.width(choices);
        case "unary":
          return Math.toIntExact(n);
        default:
          return t * Bytes.width(n) + t;
      }
    }

    /**
     * Makes a report.
     *
     * @param value from 0 on; dummies follow the values
     */
    byte[] report(long value, Words words) {
      byte[] row = new byte[Bytes.bytesOf(bits())];
      if (kind.equals("direct")) {
        Bytes.putBits(row, 0, Randomizer.direct(value, choices, kept, words), bits());
      } else if (kind.equals("unary")) {
        for (int i = 0; i < n; i++) {
          if ((i == value) == (words.next() < kept)) {
            Bytes.setBit(row, i);
          }
        }
      } else {
        long[] rows = rows(row, words);
        long hash = value < n ? hash(rows, value) : words.uniform(1L << t);
        Bytes.putBits(row, t * Bytes.width(n), Randomizer.direct(hash, 1L << t, kept, words), t);
      }
      return row;
    }

    /** Makes a report of a whole set by {@code set-hadamard}. */
    byte[] reportSet(int[] items, Words words) {
      byte[] row = new byte[Bytes.bytesOf(bits())];
      long[] rows = rows(row, words);
      Map<Long, Boolean> distinct = new LinkedHashMap<>();
      for (int each : items) {
        distinct.put(hash(rows, each), true);
      }
      List<Long> hashes = new ArrayList<>(distinct.keySet());
      // The first of a random order are a uniform choice; Fisher and Yates's shuffle, as far as it is needed.
      int count = (int) Math.min(hashes.size(), slots);
      for (int i = 0; i < count && hashes.size() > slots; i++) {
        int other = i + (int) words.uniform(hashes.size() - i);
        java.util.Collections.swap(hashes, i, other);
      }
      List<Long> own = hashes.subList(0, count);
      long sent;
      if (words.next() < count * kept) {
        sent = own.get((int) words.uniform(count));
      } else {
        long number = words.uniform((1L << t) - count);
        List<Long> ascending = new ArrayList<>(own);
        java.util.Collections.sort(ascending);
        for (long each : ascending) {
          number += each <= number ? 1 : 0;
        }
        sent = number;
      }
      Bytes.putBits(row, t * Bytes.width(n), sent, t);
      return row;
    }

    private long[] rows(byte[] row, Words words) {
      int width = Bytes.width(n);
      long[] rows = new long[t];
      for (int i = 0; i < t; i++) {
        rows[i] = words.uniform(1L << width);
        Bytes.putBits(row, i * width, rows[i], width);
      }
      return rows;
    }

    private static long hash(long[] rows, long value) {
      long found = 0;
      for (int i = 0; i < rows.length; i++) {
        found |= (long) (Long.bitCount(rows[i] & value) & 1) << i;
      }
      return found;
    }
  }
}
