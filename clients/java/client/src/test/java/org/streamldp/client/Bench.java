package org.streamldp.client;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Measures reports of records with 16 attributes of 2 values, in seconds of CPU time of one thread.
 *
 * <p>{@code java -cp target/classes:target/test-classes org.streamldp.client.Bench [SECONDS]}
 */
final class Bench {
  private static final int ATTRIBUTES = 16;
  private static final int USERS = 1_000;

  private Bench() {}

  public static void main(String[] arguments) {
    double seconds = arguments.length > 0 ? Double.parseDouble(arguments[0]) : 3;
    for (String mechanism : new String[] {"{\"kind\":\"rr-ldp\",\"f\":0.25,\"p\":0.25,\"q\":0.75}", "{\"kind\":\"k-rr\",\"epsilon\":2.0}"}) {
      CollectionSpec collection = collection(mechanism);
      String kind = mechanism.substring(9, mechanism.indexOf('"', 9));
      System.out.printf("%s, 16 attributes of 2 values, microseconds of CPU a report:%n", kind);
      show("permanent noise of each user's secret", rows(collection, true), seconds);
      show("all noise drawn afresh", rows(collection, false), seconds);
      show("with a ledger in memory, in batches of 1,000", whole(collection), seconds);
    }
  }

  /** Does some reports, and returns how many. */
  private interface Work {
    int run();
  }

  private static void show(String what, Work work, double seconds) {
    run(work, seconds / 2);
    double best = Double.POSITIVE_INFINITY;
    for (int i = 0; i < 3; i++) {
      best = Math.min(best, run(work, seconds / 3));
    }
    System.out.printf("  %-46s %8.3f  (%,.0f a second)%n", what, best * 1e6, 1 / best);
  }

  private static double run(Work work, double seconds) {
    long reports = 0;
    long begin = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    long spent;
    do {
      reports += work.run();
      spent = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - begin;
    } while (spent < seconds * 1e9);
    return spent / 1e9 / reports;
  }

  private static CollectionSpec collection(String mechanism) {
    StringBuilder attributes = new StringBuilder();
    StringBuilder meant = new StringBuilder();
    StringBuilder kept = new StringBuilder();
    for (int j = 0; j < ATTRIBUTES; j++) {
      String between = j == 0 ? "" : ",";
      attributes.append(between).append("{\"name\":\"a").append(j).append("\",\"values\":[\"no\",\"yes\"]}");
      meant.append(between).append("[\"a").append(j).append("\",[\"no\",\"yes\"]]");
      kept.append(between).append("3782994644");
    }
    boolean isRr = mechanism.contains("rr-ldp");
    String noise = isRr ? "[536870912,1073741824,3221225472]" : "[" + kept + "]";
    return CollectionSpec.of(
        "{\"collection\":\"wide\",\"window\":{\"size\":60000},\"mechanism\":" + mechanism + ",\"attributes\":[" + attributes + "]}",
        "[\"wide\",\"" + (isRr ? "rr-ldp" : "k-rr") + "\"," + noise + ",[" + meant + "]]");
  }

  private static Map<String, Object> record() {
    Map<String, Object> record = new HashMap<>();
    for (int j = 0; j < ATTRIBUTES; j++) {
      record.put("a" + j, j % 3 == 0 ? "yes" : "no");
    }
    return record;
  }

  private static Work rows(CollectionSpec collection, boolean isPermanent) {
    Object held = collection.held(record());
    List<Secret> secrets = new ArrayList<>();
    for (int i = 0; i < USERS; i++) {
      secrets.add(Secret.drawn());
    }
    Inquiry inquiry = collection.inquiries(secrets.get(0), 0, Collections.emptyList()).get(0);
    Words fresh = new Words.System();
    return () -> {
      for (Secret each : secrets) {
        inquiry.row(held, isPermanent ? each : null, 0, fresh);
      }
      return USERS;
    };
  }

  private static Work whole(CollectionSpec collection) {
    Reporter reporter = Reporter.of(collection, new Nowhere()).mostReports(USERS).build();
    Map<String, Object> record = record();
    return () -> {
      List<Reporter.User> users = new ArrayList<>();
      for (int i = 0; i < USERS; i++) {
        users.add(new Reporter.User(record, Ledger.create(Store.inMemory(), Terms.budget(1e9).build())));
      }
      return reporter.reportMany(users, (place, why) -> {});
    };
  }

  /** A sender that keeps nothing. */
  private static final class Nowhere implements Sender {
    @Override
    public boolean check(CollectionSpec collection) {
      return true;
    }

    @Override
    public List<Map<String, ?>> rounds(CollectionSpec collection) {
      return Collections.emptyList();
    }

    @Override
    public void send(Batch batch) {}
  }
}
