package org.streamldp.client;

/** The base of all exceptions of this package. The message says what is wrong and can be put right. */
public class StreamLdpException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  StreamLdpException(String message) {
    super(message);
  }

  StreamLdpException(String message, Throwable cause) {
    super(message, cause);
  }
}
