package org.streamldp.client;

/** What a user is asked at a time, of any kind of collection: what a report to it costs, and how it is made. */
interface Inquiry {
  /** Returns the fingerprint that the batches of its reports carry, 16 bytes. */
  byte[] carried();

  /**
   * Describes what a report shows.
   *
   * @param held as {@link CollectionSpec#held} has made it
   * @param tags the key of the names of permanent responses; null where every report draws them afresh
   */
  Charge charge(Object held, Secret secret, Secret tags);

  /** Returns the turn of a report at a time, for the ledger; null where users take none. */
  Turns.Turn turn(long timeMs);

  /**
   * Makes the row of a report.
   *
   * @param key the user's secret; null where all that is permanent is drawn afresh
   * @param fresh what is drawn for this report
   */
  byte[] row(Object held, Secret key, long timeMs, Words fresh);
}
