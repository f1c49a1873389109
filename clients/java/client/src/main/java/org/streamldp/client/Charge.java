package org.streamldp.client;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** What a report shows, as the user's ledger counts it: names of responses, prices, and no value. */
final class Charge {
  /** A permanent response that is shown. */
  static final class Shown {
    /** Names a set of responses: equal values of one user have the same response exactly within it. */
    final String responses;

    /** What it is about, for the user. */
    final String about;

    final Cost cost;

    /** Names the response; null where it is drawn for this report alone. */
    final String tag;

    Shown(String responses, String about, Cost cost, String tag) {
      this.responses = responses;
      this.about = about;
      this.cost = cost;
      this.tag = tag;
    }
  }

  final String collection;
  final List<Shown> shown = new ArrayList<>();

  /** Whether it carries what links it to others of its user. */
  final boolean isLinked;

  /** Of a report to a phase, the collection's fingerprint, or null; the phase, its epoch, and what it costs. */
  final String fingerprint;

  final int phase;
  final long epoch;
  final double epsilon;

  Charge(String collection, boolean isLinked) {
    this(collection, isLinked, null, 0, 0, 0);
  }

  Charge(String collection, boolean isLinked, String fingerprint, int phase, long epoch, double epsilon) {
    this.collection = collection;
    this.isLinked = isLinked;
    this.fingerprint = fingerprint;
    this.phase = phase;
    this.epoch = epoch;
    this.epsilon = epsilon;
  }

  /** Returns what it shows of the user, in words. */
  List<String> about() {
    if (fingerprint != null) {
      return Collections.singletonList("a set, in phase " + phase);
    }
    List<String> found = new ArrayList<>();
    for (Shown each : shown) {
      if (!found.contains(each.about)) {
        found.add(each.about);
      }
    }
    return found;
  }

  private static final int TAG_BYTES = 8;
  static final String TAG_PERSON = "stream-ldp tag 1";

  /** Makes the name of a response from all that it is made of, with a key that is for names alone. */
  static String tag(Secret tags, byte[] data) {
    return Bytes.hex(tags.keyed(TAG_PERSON, TAG_BYTES, data));
  }
}
