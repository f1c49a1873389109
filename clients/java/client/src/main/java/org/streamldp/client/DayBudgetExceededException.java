package org.streamldp.client;

/** A report would cost more than a day may; the next day, UTC, has a budget of its own. */
public class DayBudgetExceededException extends BudgetExceededException {
  private static final long serialVersionUID = 1L;

  DayBudgetExceededException(String message) {
    super(message);
  }
}
