package org.streamldp.client;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/**
 * A collection that users report to: what they are asked, and with how much noise.
 *
 * <p>One class of this package is for each kind of collections; none of them is needed to report.
 */
public abstract class CollectionSpec {
  static final int FINGERPRINT_BYTES = 16;
  private static final long MOST_PRECISION_MS = 60_000;
  private static final long PRECISION_PART = 10;

  private final String name;
  private final byte[] fingerprint;
  private final String meaning;
  private final long paneMs;
  private final long precisionMs;
  final Turns turns;

  CollectionSpec(Document document, String meaning, Turns turns) {
    this.turns = turns;
    name = document.text("collection");
    this.meaning = meaning;
    fingerprint = fingerprintOf(meaning);
    Document window = document.object("window");
    long size = window.count("size");
    paneMs = window.count("hop", size);
    precisionMs =
        window.count("time_precision", Math.min(Math.max(1, paneMs / PRECISION_PART), MOST_PRECISION_MS));
    if (precisionMs > paneMs) {
      throw new CollectionException("window.time_precision: expected at most the length of a window");
    }
  }

  /**
   * Reads a collection.
   *
   * @param document JSON, as a gateway serves it at {@code /v1/collections/NAME/document}
   * @param meaning the text behind the fingerprint, as a gateway serves it at {@code /v1/collections/NAME/meaning}, or
   *     {@code stream-ldp plan --json} prints it. Take both from where you take the collection file, and ship them with an
   *     application where you can: they decide how much noise there is.
   * @throws CollectionException it is no collection, of a kind that this client does not speak, the meaning belongs to
   *     another one, or lets reports cost more than the document says
   */
  public static CollectionSpec of(String document, String meaning) {
    Document read;
    Object meant;
    try {
      read = Document.of(Json.parse(document));
      meant = Json.parse(meaning);
    } catch (IllegalArgumentException wrong) {
      throw new CollectionException("the document or the meaning of the collection is " + wrong.getMessage());
    }
    String kind = read.object("mechanism").text("kind");
    try {
      switch (kind) {
        case "rr-ldp":
        case "k-rr":
        case "k-subset":
        case "hashed-k-rr":
          return new RecordCollection(read, meaning);
        case "sampled":
          return new AskingCollection(read, meaning, (List<?>) meant, new Turns(read, 1));
        case "strings":
          return new StringCollection(read, meaning, (List<?>) meant, new Turns(read, 1));
        case "places":
          return new PlaceCollection(read, meaning, (List<?>) meant, new Turns(read, 1));
        case "pairs":
          return new PairCollection(read, meaning, (List<?>) meant, new Turns(read, 1));
        case "gfim":
        case "gfim-users":
        case "ldpminer":
        case "svim":
        case "loloha":
          return new SetCollection(read, meaning);
        default:
          throw new CollectionException("this client does not speak mechanism.kind = \"" + kind + "\"");
      }
    } catch (ClassCastException | IndexOutOfBoundsException | ArithmeticException | NullPointerException wrong) {
      throw new CollectionException("the meaning of the collection is not one of " + kind);
    }
  }

  static byte[] fingerprintOf(String meaning) {
    return Arrays.copyOf(Bytes.sha256(meaning.getBytes(StandardCharsets.UTF_8)), FINGERPRINT_BYTES);
  }

  /** Requires that a meaning is the one that this client makes of the document. */
  static String same(String meaning, List<?> made) {
    String own = Json.canonical(made);
    if (!own.equals(meaning)) {
      throw new CollectionException("the meaning of the collection is not that of its document");
    }
    return own;
  }

  static void require(boolean isRight, String problem) {
    if (!isRight) {
      throw new CollectionException(problem);
    }
  }

  /** Returns its name. */
  public final String name() {
    return name;
  }

  /** Returns its fingerprint, 16 bytes. */
  public final byte[] fingerprint() {
    return fingerprint.clone();
  }

  /** Returns its fingerprint in hexadecimal, as the registry has it. */
  public final String fingerprintHex() {
    return Bytes.hex(fingerprint);
  }

  /** Returns the text behind the fingerprint. */
  public final String meaning() {
    return meaning;
  }

  final byte[] ownFingerprint() {
    return fingerprint;
  }

  final long paneMs() {
    return paneMs;
  }

  /** Returns the number of the pane that a time is in. */
  final long paneOf(long timeMs) {
    return Math.floorDiv(timeMs, paneMs);
  }

  /** Returns the event time that is written for a time: rounded down within its pane. */
  final long rounded(long timeMs) {
    return timeMs - Math.floorMod(timeMs, paneMs) % precisionMs;
  }

  /**
   * Converts what a user holds.
   *
   * @throws DataException it does not fit; the message repeats no value
   */
  abstract Object held(Map<String, ?> record);

  /** Returns what a user is asked at a time; nothing if the user is not asked. */
  abstract List<Inquiry> inquiries(Secret secret, long timeMs, List<Map<String, ?>> rounds);

  /** Whether the rounds of its phases are to be read before a report. */
  boolean hasRounds() {
    return false;
  }

  static Object field(Map<String, ?> record, String name) {
    if (!record.containsKey(name)) {
      throw new DataException("the record lacks \"" + name + "\": nothing was sent");
    }
    return record.get(name);
  }

  static void requireKnown(Map<String, ?> record, java.util.Collection<String> known, String of) {
    for (String each : record.keySet()) {
      if (!known.contains(each)) {
        throw new DataException("\"" + each + "\" is no part of a record of collection \"" + of + "\"");
      }
    }
  }

  static <T> List<T> listOf(T only) {
    return Collections.singletonList(only);
  }

  /** Returns its name and fingerprint. */
  @Override
  public String toString() {
    return name + " " + fingerprintHex();
  }
}
