package org.streamldp.client;

/** The ledger of a user is missing, damaged, another user's or there already, or its store has failed. Nothing was sent. */
public class LedgerException extends StreamLdpException {
  private static final long serialVersionUID = 1L;

  LedgerException(String message) {
    super(message);
  }

  LedgerException(String message, Throwable cause) {
    super(message, cause);
  }
}
