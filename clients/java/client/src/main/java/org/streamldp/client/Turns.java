package org.streamldp.client;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** The turns of a collection's users, each of whom reports once in so many: section 5 of docs/wire.md. */
final class Turns {
  /** One turn of a user, as the ledger remembers it. */
  static final class Turn {
    final String fingerprint;
    final long number;
    final long every;

    /** Whether more may be reported in the last turn, as to another phase of an epoch. */
    final boolean isAgain;

    private Turn(String fingerprint, long number, long every, boolean isAgain) {
      this.fingerprint = fingerprint;
      this.number = number;
      this.every = every;
      this.isAgain = isAgain;
    }
  }

  /** 0 where users take no turns. */
  private final long every;

  private final long turnMs;

  /** Reads the turns in a document; {@code windows} is the number of windows from one turn to the next. */
  Turns(Document document, long windows) {
    every = document.count("rotate", 0);
    turnMs = Math.multiplyExact(windows, document.object("window").count("size"));
    CollectionSpec.require(every != 1 && every <= Exact.WHOLE, "rotate: expected a whole number from 2 on");
  }

  /** Returns what a meaning has at its end: one entry, or none. */
  List<?> entry() {
    return every == 0 ? Collections.emptyList() : Collections.singletonList(Arrays.asList("rotate", every, turnMs));
  }

  /** Returns what a meaning says beside the turns, after checking that these are in it. */
  List<?> without(List<?> meant) {
    List<?> last = meant.isEmpty() ? meant : meant.subList(meant.size() - 1, meant.size());
    boolean isThere =
        !last.isEmpty() && last.get(0) instanceof List && !((List<?>) last.get(0)).isEmpty()
            && "rotate".equals(((List<?>) last.get(0)).get(0));
    List<?> said = isThere ? last : Collections.emptyList();
    CollectionSpec.require(said.equals(entry()), "the meaning has other turns of the users than the document");
    return meant.subList(0, meant.size() - said.size());
  }

  long at(long timeMs) {
    return Math.floorDiv(timeMs, turnMs);
  }

  /** Whether a user is asked in a turn. */
  boolean has(Secret secret, byte[] fingerprint, long number) {
    return every == 0 || Math.floorMod(number, every) == secret.word("stream-ldp rot 1", fingerprint) * every >>> 32;
  }

  /** Returns a turn for the ledger; null where users take none. */
  Turn turn(String fingerprint, long number, boolean isAgain) {
    return every == 0 ? null : new Turn(fingerprint, number, every, isAgain);
  }
}
