package org.streamldp.client;

import java.util.Collections;
import java.util.List;
import java.util.Map;

/** A collection that asks its users one thing, in every window or in each turn of theirs, and not in rounds. */
abstract class TurnCollection extends CollectionSpec implements Inquiry {
  TurnCollection(Document document, String meaning, Turns turns) {
    super(document, meaning, turns);
  }

  @Override
  List<Inquiry> inquiries(Secret secret, long timeMs, List<Map<String, ?>> rounds) {
    return turns.has(secret, ownFingerprint(), turns.at(timeMs)) ? listOf(this) : Collections.emptyList();
  }

  @Override
  public Turns.Turn turn(long timeMs) {
    return turns.turn(fingerprintHex(), turns.at(timeMs), false);
  }

  @Override
  public byte[] carried() {
    return ownFingerprint();
  }
}
