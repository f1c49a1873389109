package org.streamldp.client;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * A reporter perturbs what users hold, charges their ledgers, and sends what is left of it. Of every kind of collection;
 * several threads may use it.
 *
 * <p>What a user holds is a map: the values of attributes by their names; a string by its name; {@code place}, {@code
 * region} and {@code epsilon}; or {@code items}, a list of names.
 */
public final class Reporter {
  /** Most reports of a batch by default. */
  private static final int MOST_REPORTS = 10_000;

  private final CollectionSpec collection;
  private final Sender sender;
  private final LongSupplier clock;
  private final int mostReports;
  private final Supplier<Words> words;
  private volatile boolean isChecked;

  private Reporter(Builder builder) {
    collection = builder.collection;
    sender = builder.sender;
    clock = builder.clock;
    mostReports = builder.mostReports;
    words = builder.words;
  }

  /** Begins a reporter for a collection, whose reports leave by a sender. */
  public static Builder of(CollectionSpec collection, Sender sender) {
    return new Builder(collection, sender);
  }

  /** Makes a reporter. */
  public static final class Builder {
    private final CollectionSpec collection;
    private final Sender sender;
    private LongSupplier clock = System::currentTimeMillis;
    private int mostReports = MOST_REPORTS;
    private Supplier<Words> words = Words.System::new;

    private Builder(CollectionSpec collection, Sender sender) {
      this.collection = collection;
      this.sender = sender;
    }

    /** Sets the clock, in milliseconds since 1970-01-01 UTC; the system's where it is left out. */
    public Builder clock(LongSupplier milliseconds) {
      clock = milliseconds;
      return this;
    }

    /** Sets the most reports of one batch; 10,000 where it is left out, and fewer where they would be too large. */
    public Builder mostReports(int most) {
      if (most < 1) {
        throw new IllegalArgumentException("a batch has at least one report");
      }
      mostReports = most;
      return this;
    }

    Builder words(Supplier<Words> source) {
      words = source;
      return this;
    }

    /** Returns the reporter. */
    public Reporter build() {
      return new Reporter(this);
    }
  }

  /** A user who reports, with others, what the user holds. */
  public static final class User {
    private final Map<String, ?> record;
    private final Ledger ledger;

    /** Takes what a user holds, and the user's ledger. */
    public User(Map<String, ?> record, Ledger ledger) {
      this.record = record;
      this.ledger = ledger;
    }

    /** Names nothing of the user. */
    @Override
    public String toString() {
      return "a user";
    }
  }

  /** Hears what became of the reports of many users. */
  public interface Listener {
    /**
     * Takes the receipt of a report, for its user, before it leaves.
     *
     * @param place of the user, from 0 on
     */
    default void onReceipt(int place, Receipt receipt) {}

    /**
     * Takes why a user does not report: a {@link ReportRefusedException} or a {@link LedgerException}.
     *
     * @param place of the user, from 0 on
     */
    void onRefused(int place, StreamLdpException why);
  }

  /**
   * Reports what one user holds, if the user is asked now.
   *
   * @return a receipt for each report, for the user: none where the user is not asked, or has reported to all that asks
   * @throws DataException it does not fit the collection; nothing was charged or sent
   * @throws CollectionException the service has another collection; nothing was charged or sent
   * @throws ReportRefusedException the user's terms do not allow it; nothing was sent
   * @throws LedgerException the ledger cannot be used; nothing was sent
   * @throws DeliveryException reports are charged, but not acknowledged; the exception has the batches
   */
  public List<Receipt> report(Map<String, ?> record, Ledger ledger) {
    return report(record, ledger, 1);
  }

  /** Reports the same so many times, one after another. */
  List<Receipt> report(Map<String, ?> record, Ledger ledger, int times) {
    List<Receipt> receipts = new ArrayList<>();
    Listener listener =
        new Listener() {
          @Override
          public void onReceipt(int place, Receipt receipt) {
            receipts.add(receipt);
          }

          @Override
          public void onRefused(int place, StreamLdpException why) {
            throw why;
          }
        };
    reportMany(Collections.singletonList(new User(record, ledger)), listener, times);
    return receipts;
  }

  /**
   * Reports what each of many users holds who are asked now, in as few batches as they fit in.
   *
   * @param listener hears of each report, and of each user who does not report
   * @return number of reports that the brokers have
   * @throws DataException a record does not fit the collection; nothing was charged or sent
   * @throws CollectionException the service has another collection; nothing was charged or sent
   * @throws DeliveryException reports are charged, but not acknowledged; the exception has the batches
   */
  public int reportMany(List<User> users, Listener listener) {
    return reportMany(users, listener, 1);
  }

  private int reportMany(List<User> users, Listener listener, int times) {
    List<Object> held = new ArrayList<>(users.size());
    for (User each : users) {
      held.add(collection.held(each.record));
    }
    if (!isChecked) {
      isChecked = sender.check(collection);
    }
    int reports = 0;
    int most = Math.max(1, mostReports / times);
    for (int start = 0; start < users.size(); start += most) {
      int end = Math.min(start + most, users.size());
      reports += reportSome(users, held, start, end, listener, times);
    }
    return reports;
  }

  private int reportSome(List<User> users, List<Object> held, int start, int end, Listener listener, int times) {
    long timeMs = clock.getAsLong();
    List<Map<String, ?>> rounds = collection.hasRounds() ? sender.rounds(collection) : Collections.emptyList();
    Map<String, List<byte[]>> rows = new LinkedHashMap<>();
    Words fresh = words.get();
    try {
      for (int place = start; place < end; place++) {
        Ledger ledger = users.get(place).ledger;
        Object holds = held.get(place);
        try {
          for (Inquiry inquiry : collection.inquiries(ledger.secret(), timeMs, rounds)) {
            Optional<Ledger.Paid> paid =
                ledger.spend(inquiry, holds, timeMs, times, key -> made(inquiry, holds, key, timeMs, fresh, times));
            if (paid.isPresent()) {
              rows.computeIfAbsent(Bytes.hex(inquiry.carried()), any -> new ArrayList<>()).addAll(paid.get().rows);
              listener.onReceipt(place, paid.get().receipt);
            }
          }
        } catch (ReportRefusedException | LedgerException why) {
          listener.onRefused(place, why);
        }
      }
    } finally {
      // What is charged leaves, also where a listener has thrown.
      send(rows, timeMs);
    }
    return rows.values().stream().mapToInt(List::size).sum();
  }

  private static List<byte[]> made(Inquiry inquiry, Object held, Secret key, long timeMs, Words fresh, int times) {
    List<byte[]> rows = new ArrayList<>(times);
    for (int i = 0; i < times; i++) {
      rows.add(inquiry.row(held, key, timeMs, fresh));
    }
    return rows;
  }

  private void send(Map<String, List<byte[]>> rows, long timeMs) {
    List<Batch> batches = new ArrayList<>();
    for (Map.Entry<String, List<byte[]>> each : rows.entrySet()) {
      int width = each.getValue().get(0).length;
      int most = Math.min(Math.max(mostReports, 1), (Batch.MOST_BYTES - Batch.HEADER_BYTES) / width);
      for (int start = 0; start < each.getValue().size(); start += most) {
        List<byte[]> part = each.getValue().subList(start, Math.min(start + most, each.getValue().size()));
        batches.add(Batch.of(collection, Bytes.fromHex(each.getKey()), timeMs, part));
      }
    }
    for (int i = 0; i < batches.size(); i++) {
      try {
        sender.send(batches.get(i));
      } catch (DeliveryException failed) {
        throw failed.of(batches.subList(i, batches.size()));
      }
    }
  }

  /** Names its collection. */
  @Override
  public String toString() {
    return "a reporter to " + collection;
  }
}
