/**
 * A client that reports to stream_ldp under local differential privacy, from the JVM and from Android.
 *
 * <p>Nothing that is given to or comes from this package is null, unless its documentation says so: what may be absent is
 * an {@link java.util.Optional}. A record may hold null where a value is missing. Exceptions are unchecked, and have the
 * base {@link org.streamldp.client.StreamLdpException}; their messages repeat no value of a record and no secret.
 *
 * <pre>{@code
 * Gateway gateway = Gateway.at("https://reports.example").build();
 * CollectionSpec survey = gateway.collection("care-survey");
 * Ledger ledger = Ledger.openOrCreate(FileStore.at(path), Terms.budget(4).build());
 * Reporter reporter = Reporter.of(survey, gateway).build();
 * reporter.report(Map.of("bathing", "no", "mobility", "some"), ledger);
 * }</pre>
 */
package org.streamldp.client;
