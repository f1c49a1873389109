package org.streamldp.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Ledgers of several threads, and what they and their texts show. */
class LedgerTest {
  private static final String DOCUMENT =
      "{\"collection\":\"care-survey\",\"window\":{\"size\":60000},\"mechanism\":{\"kind\":\"k-rr\",\"epsilon\":2.0},"
          + "\"attributes\":[{\"name\":\"bathing\",\"values\":[\"no\",\"yes\"]},"
          + "{\"name\":\"mobility\",\"values\":[\"none\",\"some\",\"full\"]}]}";
  private static final String MEANING =
      "[\"care-survey\",\"k-rr\",[3782994644,3380079312],[[\"bathing\",[\"no\",\"yes\"]],"
          + "[\"mobility\",[\"none\",\"some\",\"full\"]]]]";
  static final CollectionSpec SURVEY = CollectionSpec.of(DOCUMENT, MEANING);
  private static final Map<String, String> RECORD = Map.of("bathing", "no", "mobility", "some");

  @TempDir Path directory;

  /** A sender that keeps what it is sent, and fails as often as it is told to. */
  static final class Kept implements Sender {
    final List<Batch> batches = Collections.synchronizedList(new ArrayList<>());
    int failures;

    @Override
    public boolean check(CollectionSpec collection) {
      return true;
    }

    @Override
    public List<Map<String, ?>> rounds(CollectionSpec collection) {
      return Collections.emptyList();
    }

    @Override
    public void send(Batch batch) {
      if (failures-- > 0) {
        throw new DeliveryException("unreachable", "not now");
      }
      batches.add(batch);
    }
  }

  @Test
  void threadsSpendOneBudgetOnce() throws Exception {
    Path path = directory.resolve("ledger");
    Ledger.create(FileStore.at(path), Terms.budget(20.1).fresh(true).build());
    Kept kept = new Kept();
    Reporter reporter = Reporter.of(SURVEY, kept).build();
    ExecutorService threads = Executors.newFixedThreadPool(4);
    List<Future<Boolean>> asked = new ArrayList<>();
    for (int i = 0; i < 12; i++) {
      asked.add(
          threads.submit(
              () -> {
                try {
                  return !reporter.report(RECORD, Ledger.open(FileStore.at(path))).isEmpty();
                } catch (BudgetExceededException spent) {
                  return false;
                }
              }));
    }
    int reports = 0;
    for (Future<Boolean> each : asked) {
      reports += each.get() ? 1 : 0;
    }
    threads.shutdown();
    // 4 nats each: five of them, and no sixth.
    assertEquals(5, reports);
    assertEquals(5, kept.batches.size());
    assertEquals(20, Ledger.open(FileStore.at(path)).spent(), 1e-9);
  }

  @Test
  void batchesThatWereNotAcknowledgedAreHandedBackAndCostNothingMore() {
    Ledger ledger = Ledger.create(Store.inMemory(), Terms.budget(4).build());
    Kept kept = new Kept();
    kept.failures = 1;
    Reporter reporter = Reporter.of(SURVEY, kept).build();
    DeliveryException failed = assertThrows(DeliveryException.class, () -> reporter.report(RECORD, ledger));
    assertEquals(4, ledger.spent(), 1e-9);
    assertEquals(1, failed.batches().size());
    failed.batches().forEach(kept::send);
    assertEquals(1, kept.batches.size());
    assertEquals("unreachable", failed.reason());
  }

  @Test
  void whatCostsNothingMoreIsSentWhereStricterTermsLeaveNothing() {
    Ledger ledger = Ledger.create(Store.inMemory(), Terms.budget(9).build());
    Reporter reporter = Reporter.of(SURVEY, new Kept()).build();
    assertEquals(1, reporter.report(RECORD, ledger).size());
    ledger.agree(Terms.budget(2).perDay(1).perSpan(0.5, 7).build());
    assertEquals(1, reporter.report(RECORD, ledger).size());
    assertEquals(4, ledger.spent(), 1e-9);
  }

  @Test
  void otherUsersReportWhereOneIsRefused() {
    Kept kept = new Kept();
    Reporter reporter = Reporter.of(SURVEY, kept).build();
    Ledger poor = Ledger.create(Store.inMemory(), Terms.budget(1).build());
    Ledger rich = Ledger.create(Store.inMemory(), Terms.budget(9).build());
    List<Integer> refused = new ArrayList<>();
    int reports =
        reporter.reportMany(
            List.of(new Reporter.User(RECORD, poor), new Reporter.User(RECORD, rich)),
            (place, why) -> refused.add(place));
    assertEquals(1, reports);
    assertEquals(List.of(0), refused);
  }

  @Test
  void nothingThatIsPrintedOrKeptHasAValueAndOnlyTheFileHasTheSecret() throws Exception {
    Path path = directory.resolve("ledger");
    Ledger ledger = Ledger.create(FileStore.at(path), Terms.budget(4).build());
    Receipt receipt = Reporter.of(SURVEY, new Kept()).build().report(RECORD, ledger).get(0);
    String secret = ledger.secret().hex();
    String kept = Files.readString(path);
    assertTrue(kept.contains(secret));
    assertFalse(kept.contains("some"));
    String printed = "" + ledger + ledger.secret() + receipt + new Reporter.User(RECORD, ledger) + SURVEY;
    assertFalse(printed.contains(secret.substring(0, 8)));
    assertFalse(printed.contains("some"));
    assertTrue(receipt.toString().startsWith("Sent to care-survey: 1 byte, "));
    assertTrue(receipt.toString().contains("; 0.000 of 4.0 are left. Between two "));
    Files.writeString(path, kept.replace(secret, secret.replace('a', 'b')));
    LedgerException damaged = assertThrows(LedgerException.class, () -> Ledger.open(FileStore.at(path)));
    assertFalse(String.valueOf(damaged.getCause()).contains(secret.substring(0, 8)));
  }

  @Test
  void epochsThatAreFarApartAreRememberedAsRanges() {
    Ledger ledger = Ledger.create(Store.inMemory(), Terms.budget(1e6).build());
    Charge charge = new Charge("films", false, "00", 1, 5, 1.5);
    Book book = new Book(ledger.secret(), ledger.terms());
    for (long epoch = 0; epoch < 1_000; epoch += 10) {
      book.count(new Charge("films", false, "00", 1, epoch, 1.5), 1, 0);
    }
    assertEquals(150, book.spent(), 1e-9);
    Book read = Book.of(book.text());
    assertEquals(150, read.spent(), 1e-9);
    assertTrue(read.isOver(new Charge("films", false, "00", 1, 990, 1.5)));
    assertTrue(read.isOver(charge)); // between the two ranges that became one
    assertFalse(read.isOver(new Charge("films", false, "00", 2, 990, 1.5)));
    assertFalse(read.isOver(new Charge("films", false, "00", 1, 2_000, 1.5)));
  }

  @Test
  void someDaysThatFollowEachOtherHaveABudgetWheneverTheyBegin() {
    long day = 86_400_000;
    Terms terms = Terms.budget(1e6).perSpan(8.1, 7).fresh(true).build();
    Ledger ledger = Ledger.create(Store.inMemory(), terms);
    long[] now = {1_760_000_000_000L};
    Reporter reporter = Reporter.of(SURVEY, new Kept()).clock(() -> now[0]).build();
    reporter.report(RECORD, ledger);
    now[0] += 3 * day;
    reporter.report(RECORD, ledger);
    assertThrows(SpanBudgetExceededException.class, () -> reporter.report(RECORD, ledger));
    // A clock that is set back finds what lies ahead of it.
    now[0] -= 3 * day;
    assertThrows(SpanBudgetExceededException.class, () -> reporter.report(RECORD, ledger));
    now[0] += 7 * day + day / 2;
    reporter.report(RECORD, ledger);
    assertThrows(SpanBudgetExceededException.class, () -> reporter.report(RECORD, ledger));
    assertEquals(8.1, ledger.terms().but().build().perSpan());
    assertThrows(LedgerException.class, () -> Terms.budget(4).perSpan(1, 0).build());
  }
}
