package org.streamldp.client;

import java.util.List;
import java.util.zip.CRC32;

/**
 * A batch of reports, as it is sent: sections 6 and 7 of docs/wire.md.
 *
 * <p>It may be sent again as the same bytes, as often as it takes: it counts once, and costs nothing more.
 */
public final class Batch {
  /** The type of a batch, in the header {@code content-type} of a record and of a request. */
  public static final String CONTENT_TYPE = "application/vnd.sldp.batch;v=1";

  static final int HEADER_BYTES = 56;

  /** Bytes of the largest batch that a gateway takes: a record of Kafka's default limit, less its frame. */
  static final int MOST_BYTES = (1 << 20) - 1024;

  private static final int ID_BYTES = 16;

  private final String collection;
  private final byte[] id;
  private final long timeMs;
  private final int reports;
  private final byte[] bytes;

  private Batch(String collection, byte[] id, long timeMs, int reports, byte[] bytes) {
    this.collection = collection;
    this.id = id;
    this.timeMs = timeMs;
    this.reports = reports;
    this.bytes = bytes;
  }

  /** Makes a batch with an id of its own, of rows in random order: a place would show when its user reported. */
  static Batch of(CollectionSpec collection, byte[] carried, long timeMs, List<byte[]> rows) {
    Words words = new Words.System();
    for (int last = rows.size() - 1; last > 0; last--) {
      java.util.Collections.swap(rows, last, (int) words.uniform(last + 1L));
    }
    return of(collection.name(), carried, Words.System.bytes(ID_BYTES), collection.rounded(timeMs), rows);
  }

  static Batch of(String collection, byte[] carried, byte[] id, long timeMs, List<byte[]> rows) {
    int width = rows.get(0).length;
    byte[] bytes = new byte[HEADER_BYTES + width * rows.size()];
    System.arraycopy(new byte[] {'S', 'L', 'D', 'P'}, 0, bytes, 0, 4);
    bytes[8] = 1;
    bytes[10] = (byte) width;
    bytes[11] = (byte) (width >>> 8);
    Bytes.put32(bytes, 12, rows.size());
    System.arraycopy(carried, 0, bytes, 16, 16);
    System.arraycopy(id, 0, bytes, 32, ID_BYTES);
    Bytes.put64(bytes, 48, timeMs);
    int at = HEADER_BYTES;
    for (byte[] row : rows) {
      System.arraycopy(row, 0, bytes, at, width);
      at += width;
    }
    CRC32 checksum = new CRC32();
    checksum.update(bytes, 8, bytes.length - 8);
    Bytes.put32(bytes, 4, checksum.getValue());
    return new Batch(collection, id, timeMs, rows.size(), bytes);
  }

  /** Returns the name of its collection. */
  public String collection() {
    return collection;
  }

  /** Returns its id, 16 random bytes: the key of its record. */
  public byte[] id() {
    return id.clone();
  }

  /** Returns its event time, in milliseconds since 1970-01-01 UTC: the time of its record. */
  public long timeMs() {
    return timeMs;
  }

  /** Returns the number of its reports. */
  public int reports() {
    return reports;
  }

  /** Returns its bytes: the value of its record. */
  public byte[] bytes() {
    return bytes.clone();
  }

  /** Says how many reports it has, and for what. */
  @Override
  public String toString() {
    return reports + (reports == 1 ? " report" : " reports") + " for " + collection;
  }
}
