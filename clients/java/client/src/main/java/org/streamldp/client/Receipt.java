package org.streamldp.client;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;

/**
 * What a report shows of its user, for the user alone. It has no true value: show it where the user is, and neither send
 * nor log it.
 */
public final class Receipt {
  private static final int SHOWN_BYTES = 16;

  private final String collection;
  private final List<String> about;
  private final List<byte[]> rows;
  private final boolean isLinked;
  private final double cost;
  private final double spent;
  private final double budget;

  Receipt(Charge charge, List<byte[]> rows, double cost, double spent, double budget) {
    collection = charge.collection;
    about = Collections.unmodifiableList(charge.about());
    this.rows = rows;
    isLinked = charge.isLinked;
    this.cost = cost;
    this.spent = spent;
    this.budget = budget;
  }

  /** Returns the name of the collection. */
  public String collection() {
    return collection;
  }

  /** Returns the names of what is shown with noise. */
  public List<String> about() {
    return about;
  }

  /** Returns the reports, as they leave. */
  public List<byte[]> rows() {
    List<byte[]> copies = new ArrayList<>();
    for (byte[] each : rows) {
      copies.add(each.clone());
    }
    return copies;
  }

  /** Whether they carry a pseudonym or seed that links them. */
  public boolean isLinked() {
    return isLinked;
  }

  /** Returns the nats that they have cost. */
  public double cost() {
    return cost;
  }

  /** Returns the nats that all reports of the user, to all collections, have cost. */
  public double spent() {
    return spent;
  }

  /** Returns the nats that they may cost in a lifetime; infinite where they are only counted. */
  public double budget() {
    return budget;
  }

  /** Returns the nats that are left of the budget. */
  public double left() {
    return Math.max(0, budget - spent);
  }

  /** Returns the largest posterior of one of two records that were held for equally likely, after all reports. */
  public double surest() {
    return 1 / (1 + Math.exp(-spent));
  }

  private static String listed(List<String> names) {
    String last = names.get(names.size() - 1);
    return names.size() == 1 ? last : String.join(", ", names.subList(0, names.size() - 1)) + " and " + last;
  }

  private String what() {
    byte[] first = rows.get(0);
    String hex = Bytes.hex(first.length > SHOWN_BYTES ? java.util.Arrays.copyOf(first, SHOWN_BYTES) : first);
    String shown =
        first.length + (first.length == 1 ? " byte, " : " bytes, ") + hex + (first.length > SHOWN_BYTES ? "..." : "");
    return rows.size() == 1 ? shown : rows.size() + " reports, the first with " + shown;
  }

  /** Says it in sentences. */
  @Override
  public String toString() {
    double guess = Math.ceil(surest() * 1000) / 10;
    String left =
        Double.isInfinite(budget)
            ? "there is no budget"
            : String.format(
                Locale.ROOT, "%.3f of %s are left", Math.floor(left() * 1000) / 1000, Json.shortest(budget));
    return String.format(
        Locale.ROOT,
        "Sent to %s: %s, with noise, about %s.%s Cost: %.3f nats; %s. Between two equally likely records, the best guess"
            + " of yours is now %s %% right.",
        collection,
        what(),
        listed(about),
        isLinked ? " It shows which reports are yours." : "",
        Math.ceil(cost * 1000 - 1e-6) / 1000,
        left,
        guess < 100 ? String.format(Locale.ROOT, "%.1f", guess) : "over 99.9");
  }
}
