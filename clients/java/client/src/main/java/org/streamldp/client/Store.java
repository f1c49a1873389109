package org.streamldp.client;

import java.util.Optional;
import java.util.function.Function;

/**
 * Where the ledger of one user is kept, as a text.
 *
 * <p>Nothing else may change the text while {@link #update} runs, in another thread or process either: otherwise two
 * reports could be paid for with the same part of a budget.
 */
public interface Store {
  /** Returns the text; nothing if there is none. */
  Optional<String> read();

  /**
   * Replaces the text, and returns once the new one is kept through a power failure. Nothing changes if the function
   * throws.
   *
   * @param change makes the new text of the one that is there, or of none
   */
  void update(Function<Optional<String>, String> change);

  /** Returns a store in memory, for tests, and for backends that keep the ledgers of their users themselves. */
  static Store inMemory() {
    return new Store() {
      private String text;

      @Override
      public synchronized Optional<String> read() {
        return Optional.ofNullable(text);
      }

      @Override
      public synchronized void update(Function<Optional<String>, String> change) {
        text = change.apply(read());
      }

      @Override
      public String toString() {
        return "memory";
      }
    };
  }
}
