package org.streamldp.client;

/** A report would cost more than some days that follow each other may. */
public class SpanBudgetExceededException extends BudgetExceededException {
  private static final long serialVersionUID = 1L;

  SpanBudgetExceededException(String message) {
    super(message);
  }
}
