package org.streamldp.client;

/** The terms of a user do not allow a report. Nothing was sent, and nothing charged. */
public class ReportRefusedException extends StreamLdpException {
  private static final long serialVersionUID = 1L;

  ReportRefusedException(String message) {
    super(message);
  }
}
