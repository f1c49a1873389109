package org.streamldp.examples;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.streamldp.client.CollectionSpec;
import org.streamldp.client.FileStore;
import org.streamldp.client.KafkaSender;
import org.streamldp.client.Ledger;
import org.streamldp.client.Receipt;
import org.streamldp.client.Reporter;
import org.streamldp.client.StreamLdpException;
import org.streamldp.client.Terms;

/** A backend that reports for each of its users, straight to Kafka: DOCUMENT MEANING BROKERS PREFIX LEDGERS USERS. */
public final class Plain {
  private Plain() {}

  public static void main(String[] arguments) throws IOException {
    CollectionSpec survey =
        CollectionSpec.of(Files.readString(Path.of(arguments[0])), Files.readString(Path.of(arguments[1])));
    Path ledgers = Path.of(arguments[4]);
    List<Reporter.User> users = new ArrayList<>();
    for (int user = 0; user < Integer.parseInt(arguments[5]); user++) {
      Map<String, String> record =
          Map.of("bathing", user % 4 == 0 ? "yes" : "no", "mobility", user % 3 == 0 ? "full" : "some");
      // One file for each user, which has the user's secret: back it up, and let nobody else read it.
      Ledger ledger =
          Ledger.openOrCreate(FileStore.at(ledgers.resolve("user-" + user)), Terms.budget(4).build());
      users.add(new Reporter.User(record, ledger));
    }
    try (KafkaSender kafka = KafkaSender.connect(Map.of("bootstrap.servers", arguments[2]), arguments[3])) {
      int reports = Reporter.of(survey, kafka).build().reportMany(users, new Shown());
      System.out.println(reports + " reports");
    }
  }

  /** Shows the first user's receipt, and why others do not report. */
  private static final class Shown implements Reporter.Listener {
    @Override
    public void onReceipt(int place, Receipt receipt) {
      if (place == 0) {
        System.out.println(receipt);
      }
    }

    @Override
    public void onRefused(int place, StreamLdpException why) {
      System.out.println("user " + place + ": " + why.getMessage());
    }
  }
}
