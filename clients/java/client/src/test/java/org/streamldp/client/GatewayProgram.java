package org.streamldp.client;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Reports for users through a gateway: URL COLLECTION TIME; each line of the input is what a user holds, as JSON. */
final class GatewayProgram {
  private GatewayProgram() {}

  @SuppressWarnings("unchecked")
  public static void main(String[] arguments) throws IOException {
    Gateway gateway = Gateway.at(arguments[0]).build();
    CollectionSpec collection = gateway.collection(arguments[1]);
    long timeMs = Long.parseLong(arguments[2]);
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    List<Reporter.User> users = new ArrayList<>();
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      Ledger ledger = Ledger.create(Store.inMemory(), Terms.budget(100).linked(true).build());
      users.add(new Reporter.User((Map<String, ?>) Json.parse(line), ledger));
    }
    Reporter reporter = Reporter.of(collection, gateway).clock(() -> timeMs).build();
    System.out.println(reporter.reportMany(users, (place, why) -> System.out.println(why.getMessage())));
  }
}
