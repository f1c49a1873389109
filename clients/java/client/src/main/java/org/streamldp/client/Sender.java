package org.streamldp.client;

import java.util.List;
import java.util.Map;

/** What batches leave by: a gateway, or Kafka itself. */
public interface Sender {
  /**
   * Checks that the service has this very collection: otherwise no report would count, and the user would spend for
   * nothing.
   *
   * @return whether it has; one that is not there yet may be registered later, and is asked for again
   * @throws CollectionException it has another one of this name, or none and never will
   * @throws DeliveryException it does not answer
   */
  boolean check(CollectionSpec collection);

  /**
   * Returns the rounds of the last two windows of a collection of item sets, in the order in which they were published,
   * each as the object that its JSON is. A reporter trusts none of them unseen.
   *
   * @throws DeliveryException the service does not answer
   */
  List<Map<String, ?>> rounds(CollectionSpec collection);

  /**
   * Sends a batch, again and as the same bytes while the service cannot take it; returns once the brokers have it.
   *
   * @throws DeliveryException it was not acknowledged; the batch may be sent again
   */
  void send(Batch batch);
}
