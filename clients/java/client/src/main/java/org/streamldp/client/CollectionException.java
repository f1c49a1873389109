package org.streamldp.client;

/** A collection is not one that this client speaks, or not the one that the service runs. */
public class CollectionException extends StreamLdpException {
  private static final long serialVersionUID = 1L;

  CollectionException(String message) {
    super(message);
  }
}
