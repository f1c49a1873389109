package org.streamldp.client;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** Threads of a backend that report for many users by one reporter. */
class LoadTest {
  private static final int THREADS = 4;
  private static final int USERS = 5_000;

  @Test
  void everyReportOfManyThreadsLeavesOnceInBatchesOfTheirOwn() throws Exception {
    LedgerTest.Kept kept = new LedgerTest.Kept();
    Reporter reporter = Reporter.of(LedgerTest.SURVEY, kept).mostReports(1_000).build();
    ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    List<Future<Integer>> asked = new ArrayList<>();
    for (int thread = 0; thread < THREADS; thread++) {
      asked.add(
          threads.submit(
              () -> {
                List<Reporter.User> users = new ArrayList<>();
                for (int user = 0; user < USERS; user++) {
                  Map<String, String> record = Map.of("bathing", "no", "mobility", user % 2 == 0 ? "some" : "full");
                  users.add(new Reporter.User(record, Ledger.create(Store.inMemory(), Terms.budget(4).build())));
                }
                return reporter.reportMany(
                    users,
                    (place, why) -> {
                      throw why;
                    });
              }));
    }
    for (Future<Integer> each : asked) {
      assertEquals(USERS, each.get());
    }
    threads.shutdown();
    Set<String> ids = new HashSet<>();
    int reports = 0;
    for (Batch each : kept.batches) {
      ids.add(Bytes.hex(each.id()));
      reports += each.reports();
    }
    assertEquals(THREADS * USERS, reports);
    assertEquals(kept.batches.size(), ids.size());
  }
}
