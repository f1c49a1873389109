package org.streamldp.client;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What a user has agreed to.
 *
 * <pre>{@code Terms.budget(4).perDay(1).build()}</pre>
 */
public final class Terms {
  private final double budget;
  private final double perDay;
  private final int values;
  private final boolean isFresh;
  private final boolean isLinked;

  private Terms(Builder builder) {
    budget = builder.budget;
    perDay = builder.perDay;
    values = builder.values;
    isFresh = builder.isFresh;
    isLinked = builder.isLinked;
    if (!(budget > 0) || !(perDay > 0)) {
      throw new LedgerException("a budget is a positive number of nats");
    }
    if (values < 1) {
      throw new LedgerException("values is a whole number from 1 on");
    }
  }

  /**
   * Begins terms.
   *
   * @param nats that all reports may cost, for ever; infinite if they are only to be counted
   */
  public static Builder budget(double nats) {
    return new Builder(nats);
  }

  /** Begins terms that are these, but for what is changed. */
  public Builder but() {
    return new Builder(budget).perDay(perDay).values(values).fresh(isFresh).linked(isLinked);
  }

  /** Returns the nats that all reports may cost, for ever. */
  public double budget() {
    return budget;
  }

  /** Returns the nats that all reports of one day, UTC, may cost; infinite where the budget alone holds. */
  public double perDay() {
    return perDay;
  }

  /** Returns the most values of what is permanent that may be reported, one after another. */
  public int values() {
    return values;
  }

  /** Whether all noise of every report is drawn anew, so that values may change in any way, at the price of a first. */
  public boolean isFresh() {
    return isFresh;
  }

  /** Whether reports may carry what tells that they are one user's, where a collection asks for it. */
  public boolean isLinked() {
    return isLinked;
  }

  Map<String, Object> data() {
    Map<String, Object> data = new LinkedHashMap<>();
    data.put("budget", Double.isInfinite(budget) ? null : budget);
    data.put("per_day", Double.isInfinite(perDay) ? null : perDay);
    data.put("values", values);
    data.put("fresh", isFresh);
    data.put("linked", isLinked);
    return data;
  }

  /** Reads what {@link #data} has written; what is left out is as for a new user. */
  static Terms of(Map<?, ?> data) {
    Object budget = data.get("budget");
    Object perDay = data.get("per_day");
    Object values = data.get("values");
    return budget(budget == null ? Double.POSITIVE_INFINITY : ((Number) budget).doubleValue())
        .perDay(perDay == null ? Double.POSITIVE_INFINITY : ((Number) perDay).doubleValue())
        .values(values == null ? 1 : (int) Math.min(Integer.MAX_VALUE, ((Number) values).longValue()))
        .fresh(Boolean.TRUE.equals(data.get("fresh")))
        .linked(Boolean.TRUE.equals(data.get("linked")))
        .build();
  }

  /** Makes terms. */
  public static final class Builder {
    private final double budget;
    private double perDay = Double.POSITIVE_INFINITY;
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

    /** Sets whether reports may carry what tells that they are one user's. */
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
