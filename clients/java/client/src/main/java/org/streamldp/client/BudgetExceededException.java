package org.streamldp.client;

/** The budget of a user does not cover a report. */
public class BudgetExceededException extends ReportRefusedException {
  private static final long serialVersionUID = 1L;

  BudgetExceededException(String message) {
    super(message);
  }
}
