package org.streamldp.client;

/** What a user holds has changed, and the user has not agreed to report that. */
public class TooManyValuesException extends ReportRefusedException {
  private static final long serialVersionUID = 1L;

  TooManyValuesException(String message) {
    super(message);
  }
}
