package org.streamldp.client;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** Collections of strings: section 18 of docs/wire.md. */
final class StringCollection extends TurnCollection {
  /** The buckets of all symbols, with the method for unknown strings. */
  private static final int BUCKET_BITS = 7;

  private final boolean isPem;
  private final String string;
  private final int[] alphabet;
  private final int length;
  private final List<Randomizer> randomizers = new ArrayList<>();
  private final List<int[]> questions = new ArrayList<>();
  private final long[] ends;
  private final double loss;

  StringCollection(Document document, String meaning, List<?> all, Turns turns) {
    super(document, meaning, turns);
    List<?> meant = turns.without(all);
    require(meant.size() == 7 && name().equals(meant.get(0)), "the meaning is of another collection");
    require("strings".equals(meant.get(1)), "the meaning is of another kind than the document");
    isPem = "pem".equals(meant.get(2));
    require(isPem || "rappor-unknown".equals(meant.get(2)), "this client does not speak the method of the meaning");
    Document about = document.object("string");
    List<?> said = (List<?>) meant.get(3);
    string = about.text("name");
    String letters = about.text("alphabet", null);
    require(
        string.equals(said.get(0)) && Objects.equals(letters, said.get(1)) && about.count("length") == (Long) said.get(2),
        "the meaning asks about another string than the document");
    alphabet = letters == null ? null : letters.codePoints().toArray();
    length = Math.toIntExact(about.count("length"));
    double sum = 0;
    for (Object each : (List<?>) meant.get(4)) {
      Randomizer randomizer = new Randomizer(((List<?>) each).get(0), ((List<?>) each).get(1));
      randomizers.add(randomizer);
      sum += randomizer.loss();
    }
    loss = sum;
    for (Object each : (List<?>) meant.get(5)) {
      questions.add(isPem ? new int[] {place(each, length)} : pair((List<?>) each));
    }
    ends = AskingCollection.endsOf((List<?>) meant.get(6), questions.size());
    require(questions.size() <= 256, "the meaning has more questions than a row can name");
    checkInputs();
    double epsilon = document.object("mechanism").positive("epsilon");
    require(loss <= epsilon * (1 + 1e-12), "an answer costs more than the document says");
  }

  private static int place(Object given, int most) {
    long found = (Long) given;
    require(found >= 0 && found <= most, "a question is about more letters than there are");
    return (int) found;
  }

  private int[] pair(List<?> given) {
    return new int[] {place(given.get(0), (length - 1) / 2), place(given.get(1), (length - 1) / 2)};
  }

  /** Requires that each randomizer takes each input that a question may have. */
  private void checkInputs() {
    if (isPem) {
      long buckets = randomizers.get(0).parameter(0);
      require(
          randomizers.size() == 1 && Long.bitCount(buckets) == 1 && buckets >= 2,
          "the randomizer of the meaning does not fit its buckets");
      return;
    }
    require(alphabet != null && randomizers.size() == 3, "the meaning does not fit its method");
    long pairs = (alphabet.length + 1L) * (alphabet.length + 1L);
    require(
        randomizers.get(0).parameter(0) == 1L << BUCKET_BITS
            && randomizers.get(1).parameter(0) == pairs
            && randomizers.get(2).parameter(0) == pairs,
        "the randomizers of the meaning do not fit its questions");
  }

  @Override
  Object held(Map<String, ?> record) {
    requireKnown(record, listOf(string), name());
    Object value = field(record, string);
    if (value != null && !(value instanceof CharSequence)) {
      throw new DataException("\"" + string + "\" needs a text, or null where it is missing: nothing was sent");
    }
    return symbols(value == null ? "" : value.toString());
  }

  /** Returns the symbols of a string; zeros for one that is longer, has another letter, or is empty. */
  private int[] symbols(String text) {
    int[] symbols = new int[length];
    int[] letters;
    if (alphabet == null) {
      byte[] bytes = Bytes.utf8(text);
      letters = new int[bytes.length];
      for (int i = 0; i < letters.length; i++) {
        letters[i] = bytes[i] & 0xff;
      }
    } else {
      letters = text.codePoints().toArray();
      for (int i = 0; i < letters.length; i++) {
        letters[i] = numberOf(letters[i]);
      }
    }
    boolean isRight = letters.length <= length;
    for (int each : letters) {
      isRight &= each >= 0;
    }
    for (int i = 0; isRight && i < letters.length; i++) {
      symbols[i] = letters[i] + 1;
    }
    return symbols;
  }

  private int numberOf(int letter) {
    for (int i = 0; i < alphabet.length; i++) {
      if (alphabet[i] == letter) {
        return i;
      }
    }
    return -1;
  }

  private static long mixed(long x) {
    x += 0x9e3779b97f4a7c15L;
    x = (x ^ (x >>> 30)) * 0xbf58476d1ce4e5b9L;
    x = (x ^ (x >>> 27)) * 0x94d049bb133111ebL;
    return x ^ (x >>> 31);
  }

  private static long bucket(int[] symbols, int count, long seed, int bits) {
    long found = 0;
    for (int i = 0; i < count; i++) {
      found ^= mixed((seed << 32) + ((long) i << 16) + symbols[i]);
    }
    return found >>> (64 - bits);
  }

  private long[] inputs(int number, long seed, int[] symbols) {
    int[] asked = questions.get(number);
    if (isPem) {
      int bits = Long.numberOfTrailingZeros(randomizers.get(0).parameter(0));
      return new long[] {bucket(symbols, asked[0], seed, bits)};
    }
    long m = alphabet.length + 1L;
    long[] found = new long[3];
    found[0] = bucket(symbols, length, seed, BUCKET_BITS);
    for (int i = 0; i < 2; i++) {
      int next = 2 * asked[i] + 1;
      found[i + 1] = symbols[2 * asked[i]] * m + (next < length ? symbols[next] : 0);
    }
    return found;
  }

  private long[] drawn(Secret key) {
    byte[] digest = key.keyed("stream-ldp str 1", 8, ownFingerprint());
    return new long[] {Bytes.u32(digest, 0), Bytes.u32(digest, 4)};
  }

  private byte[] madeOf(int number, long[] inputs) {
    Bytes.Writer data = Bytes.writer().bytes(ownFingerprint()).u16(number);
    for (long each : inputs) {
      data.i64(each);
    }
    return data.all();
  }

  @Override
  public Charge charge(Object held, Secret secret, Secret tags) {
    // The seed is the same in all reports of a user, and of 32 bits.
    Charge charge = new Charge(name(), tags != null);
    int number = 0;
    String tag = null;
    if (tags != null) {
      long[] drawn = drawn(secret);
      number = AskingCollection.first(ends, drawn[0]);
      tag = Charge.tag(tags, madeOf(number, inputs(number, drawn[1], (int[]) held)));
    }
    Cost cost = Cost.once(Cost.roundedUp(loss));
    charge.shown.add(new Charge.Shown(fingerprintHex() + " " + number, string, cost, tag));
    return charge;
  }

  @Override
  public byte[] row(Object held, Secret key, long timeMs, Words fresh) {
    long[] drawn = key == null ? new long[] {fresh.next(), fresh.next()} : drawn(key);
    int number = AskingCollection.first(ends, drawn[0]);
    long[] inputs = inputs(number, drawn[1], (int[]) held);
    Words words = key == null ? fresh : Words.keyed(key, AskingCollection.ANSWERS, madeOf(number, inputs));
    Bytes.Writer row = Bytes.writer().u8(number).u32(drawn[1]);
    for (int i = 0; i < inputs.length; i++) {
      row.bytes(randomizers.get(i).answer(inputs[i], null, words));
    }
    return row.all();
  }
}
