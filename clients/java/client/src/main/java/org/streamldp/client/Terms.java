package org.streamldp.client;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What a user has agreed to.
 *
 * <pre>{@code Terms.budget(4).perDay(1).build()}</pre>
 */
public final class Terms {
  /** Longest span of a budget of some days, in days: ten years. */
  private static final int MOST_DAYS = 3660;

  private final double budget;
  private final double perDay;
  private final double perSpan;
  private final int spanDays;
  private final int values;
  private final boolean isFresh;
  private final boolean isLinked;

  private Terms(Builder builder) {
    budget = builder.budget;
    perDay = builder.perDay;
    perSpan = builder.perSpan;
    spanDays = builder.spanDays;
    values = builder.values;
    isFresh = builder.isFresh;
    isLinked = builder.isLinked;
    if (!(budget > 0) || !(perDay > 0) || !(perSpan > 0)) {
      throw new LedgerException("a budget is a positive number of nats");
    }
    if (Double.isInfinite(perSpan) != (spanDays == 0) || spanDays < 0 || spanDays > MOST_DAYS) {
      throw new LedgerException("a budget of some days has 1 to " + MOST_DAYS + " days, and a number of nats");
    }
    if (values < 1) {
      throw new LedgerException("values is a whole number from 1 on");
    }
  }

  /**
   * Begins terms.
   *
   * @param nats that all reports may cost in a lifetime; infinite if they are only to be counted
   */
  public static Builder budget(double nats) {
    return new Builder(nats);
  }

  /** Begins terms that are these, but for what is changed. */
  public Builder but() {
    return new Builder(budget).perDay(perDay).perSpan(perSpan, spanDays).values(values).fresh(isFresh).linked(isLinked);
  }

  /** Returns the nats that all reports may cost in a lifetime. */
  public double budget() {
    return budget;
  }

  /** Returns the nats that all reports of one day, UTC, may cost; infinite where the budget alone holds. */
  public double perDay() {
    return perDay;
  }

  /** Returns the nats that all reports of any {@link #spanDays} days that follow each other may cost; or infinity. */
  public double perSpan() {
    return perSpan;
  }

  /** Returns the number of these days, of 24 hours each; 0 where they have no budget. */
  public int spanDays() {
    return spanDays;
  }

  /** Returns the most values of what is permanent that may be reported, one after another. */
  public int values() {
    return values;
  }

  /** Whether all noise of every report is drawn anew, so that values may change in any way, at the price of a first. */
  public boolean isFresh() {
    return isFresh;
  }

  /** Whether reports may carry a pseudonym or seed that links them, where a collection asks. */
  public boolean isLinked() {
    return isLinked;
  }

  Map<String, Object> data() {
    Map<String, Object> data = new LinkedHashMap<>();
    data.put("budget", Double.isInfinite(budget) ? null : budget);
    data.put("per_day", Double.isInfinite(perDay) ? null : perDay);
    data.put("per_span", Double.isInfinite(perSpan) ? null : perSpan);
    data.put("span_days", spanDays);
    data.put("values", values);
    data.put("fresh", isFresh);
    data.put("linked", isLinked);
    return data;
  }

  /** Reads what {@link #data} has written; what is left out is as for a new user. */
  static Terms of(Map<?, ?> data) {
    Object budget = data.get("budget");
    Object perDay = data.get("per_day");
    Object perSpan = data.get("per_span");
    Object spanDays = data.get("span_days");
    Object values = data.get("values");
    return budget(budget == null ? Double.POSITIVE_INFINITY : ((Number) budget).doubleValue())
        .perDay(perDay == null ? Double.POSITIVE_INFINITY : ((Number) perDay).doubleValue())
        .perSpan(
            perSpan == null ? Double.POSITIVE_INFINITY : ((Number) perSpan).doubleValue(),
            spanDays == null ? 0 : (int) Math.min(Integer.MAX_VALUE, ((Number) spanDays).longValue()))
        .values(values == null ? 1 : (int) Math.min(Integer.MAX_VALUE, ((Number) values).longValue()))
        .fresh(Boolean.TRUE.equals(data.get("fresh")))
        .linked(Boolean.TRUE.equals(data.get("linked")))
        .build();
  }

  /** Makes terms. */
  public static final class Builder {
    private final double budget;
    private double perDay = Double.POSITIVE_INFINITY;
    private double perSpan = Double.POSITIVE_INFINITY;
    private int spanDays;
    private int values = 1;
    private boolean isFresh;
    private boolean isLinked;

    private Builder(double budget) {
      this.budget = budget;
    }

    /** Sets the nats that all reports of one day, UTC, may cost. */
    public Builder perDay(double nats) {
      perDay = nats;
      return this;
    }

    /** Sets the nats that all reports of any so many days that follow each other may cost, whenever they begin. */
    public Builder perSpan(double nats, int days) {
      perSpan = nats;
      spanDays = days;
      return this;
    }

    /** Sets the most values of what is permanent that may be reported, one after another; 1 where it is left out. */
    public Builder values(int most) {
      values = most;
      return this;
    }

    /** Sets whether all noise of every report is drawn anew. */
    public Builder fresh(boolean is) {
      isFresh = is;
      return this;
    }

    /** Sets whether reports may carry a pseudonym or seed that links them. */
    public Builder linked(boolean is) {
      isLinked = is;
      return this;
    }

    /**
     * Returns the terms.
     *
     * @throws LedgerException they make no sense
     */
    public Terms build() {
      return new Terms(this);
    }
  }
}
