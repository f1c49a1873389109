package org.streamldp.client;

import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * The ledger of one user: the secret, what all reports with it have cost, and what they may (docs/wire.md, section 15).
 *
 * <p>A report is counted, through a power failure, before its first byte leaves, and stays counted if it is lost. Several
 * threads and processes may use the ledger of one store.
 */
public final class Ledger {
  private final Store store;
  private final Secret secret;

  private Ledger(Store store, Secret secret) {
    this.store = store;
    this.secret = secret;
  }

  /**
   * Begins the ledger of a new user, with a new secret.
   *
   * @throws LedgerException the store has one already, or has failed
   */
  public static Ledger create(Store store, Terms terms) {
    return create(store, terms, Secret.drawn());
  }

  static Ledger create(Store store, Terms terms, Secret secret) {
    Book begun = new Book(secret, terms);
    store.update(
        text -> {
          if (text.isPresent()) {
            throw new LedgerException(store + ": there is a ledger already; Ledger.open opens it");
          }
          return begun.text();
        });
    return new Ledger(store, secret);
  }

  /**
   * Opens the ledger of a user who has one.
   *
   * @throws LedgerException it is missing or damaged; it does not begin anew by itself
   */
  public static Ledger open(Store store) {
    return new Ledger(store, bookIn(store.read(), store).secret);
  }

  /**
   * Opens the ledger of a user who has one, which keeps its terms, and begins that of a new user.
   *
   * @throws LedgerException it is damaged, or the store has failed
   */
  public static Ledger openOrCreate(Store store, Terms terms) {
    if (!store.read().isPresent()) {
      Book begun = new Book(Secret.drawn(), terms);
      // Another process may have begun it meanwhile.
      store.update(text -> text.orElseGet(begun::text));
    }
    return open(store);
  }

  private static Book bookIn(Optional<String> text, Store store) {
    if (!text.isPresent()) {
      throw new LedgerException(
          store + ": there is no ledger: Ledger.create begins that of a new user, and that of another is lost");
    }
    try {
      return Book.of(text.get());
    } catch (RuntimeException damaged) {
      // Without the cause, which may repeat the secret.
      throw new LedgerException(store + ": damaged, or of another version: nothing may be reported with it");
    }
  }

  private Book book(Optional<String> text) {
    Book book = bookIn(text, store);
    if (!book.secret.is(secret)) {
      throw new LedgerException(store + ": the ledger has another secret now");
    }
    return book;
  }

  Secret secret() {
    return secret;
  }

  /** Returns the nats that all reports have cost. */
  public double spent() {
    return book(store.read()).spent();
  }

  /** Returns the terms to which the user has agreed. */
  public Terms terms() {
    return book(store.read()).terms;
  }

  /**
   * Changes the terms, to which the user has agreed.
   *
   * @throws LedgerException the ledger is missing or damaged, or its store has failed
   */
  public void agree(Terms terms) {
    store.update(
        text -> {
          Book book = book(text);
          book.terms = terms;
          return book.text();
        });
  }

  /** A report that is paid for, of which the noise has been drawn under the terms of the payment. */
  static final class Paid {
    final List<byte[]> rows;
    final Receipt receipt;

    Paid(List<byte[]> rows, Receipt receipt) {
      this.rows = rows;
      this.receipt = receipt;
    }
  }

  /**
   * Counts reports to an inquiry, and makes their rows; returns once the new state is kept, so that they may leave.
   *
   * @param times number of reports
   * @param made makes the rows: the key is null where all of their noise is drawn afresh
   * @return nothing if the user has reported to this phase of this epoch, or has had the turn
   * @throws ReportRefusedException the terms do not allow it
   * @throws LedgerException the ledger is missing or damaged, or its store has failed
   */
  Optional<Paid> spend(
      Inquiry inquiry, Object held, long timeMs, int times, Function<Secret, List<byte[]>> made) {
    Paid[] paid = new Paid[1];
    try {
      store.update(
          text -> {
            Book book = book(text);
            Secret tags = book.tags();
            Charge charge = inquiry.charge(held, secret, tags);
            if (charge.fingerprint != null && book.isOver(charge) || !book.takes(inquiry.turn(timeMs))) {
              throw new AlreadyReported();
            }
            double before = book.spent();
            book.count(charge, times, timeMs);
            double spent = book.spent();
            List<byte[]> rows = made.apply(tags == null ? null : secret);
            paid[0] =
                new Paid(rows, new Receipt(charge, rows, Math.max(0, spent - before), spent, book.terms.budget()));
            return book.text();
          });
    } catch (AlreadyReported over) {
      return Optional.empty();
    }
    return Optional.of(paid[0]);
  }

  private static final class AlreadyReported extends RuntimeException {
    private static final long serialVersionUID = 1L;

    AlreadyReported() {
      super(null, null, false, false);
    }
  }

  /** Names the store, and nothing of the user. */
  @Override
  public String toString() {
    return "the ledger in " + store;
  }
}
