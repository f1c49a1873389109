package org.streamldp.client;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** The service has not acknowledged what was sent, or does not answer. What was to be sent is charged. */
public class DeliveryException extends StreamLdpException {
  private static final long serialVersionUID = 1L;

  private final String reason;
  private final transient List<Batch> batches;

  /**
   * Makes one.
   *
   * @param reason for programs: one of docs/wire.md, section 8, or of the gateway; {@code unreachable} where there was no
   *     answer
   * @param detail for people
   */
  public DeliveryException(String reason, String detail) {
    this(reason, detail, Collections.emptyList());
  }

  private DeliveryException(String reason, String detail, List<Batch> batches) {
    super(reason + ": " + detail);
    this.reason = reason;
    this.batches = batches;
  }

  DeliveryException of(List<Batch> unsent) {
    DeliveryException found =
        new DeliveryException(reason, getMessage().substring(reason.length() + 2), new ArrayList<>(unsent));
    found.initCause(this);
    return found;
  }

  /** Returns the reason, for programs. */
  public String reason() {
    return reason;
  }

  /** Returns the batches that were not acknowledged: {@link Sender#send} takes each again, and it counts once. */
  public List<Batch> batches() {
    return Collections.unmodifiableList(batches);
  }
}
