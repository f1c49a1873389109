package org.streamldp.client;

/** A record does not fit its collection. The message never repeats a value. */
public class DataException extends StreamLdpException {
  private static final long serialVersionUID = 1L;

  DataException(String message) {
    super(message);
  }
}
