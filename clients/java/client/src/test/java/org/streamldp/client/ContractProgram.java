package org.streamldp.client;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** This client behind the protocol of docs/clients/contract.md: lines of JSON in, lines of JSON out. */
final class ContractProgram {
  /** The status of a process that crashes, as EX_SOFTWARE of sysexits.h. */
  private static final int CRASHED = 70;

  private static final List<String> MECHANISMS =
      Arrays.asList(
          "k-rr", "k-subset", "hashed-k-rr", "rr-ldp", "sampled", "views", "strings", "places", "pairs", "gfim", "gfim-users", "ldpminer", "svim",
          "loloha");

  private final PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
  private final Map<String, CollectionSpec> collections = new HashMap<>();
  private final Map<String, Ledger> users = new HashMap<>();
  private String crash = "";

  private ContractProgram() {}

  public static void main(String[] arguments) throws IOException {
    new ContractProgram().run();
  }

  private void run() throws IOException {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      tell(answer(line));
    }
  }

  private void tell(Map<String, ?> message) {
    out.print(Json.canonical(message) + "\n");
    out.flush();
  }

  private static Map<String, Object> fields(Object... namesAndValues) {
    Map<String, Object> found = new LinkedHashMap<>();
    for (int i = 0; i < namesAndValues.length; i += 2) {
      found.put((String) namesAndValues[i], namesAndValues[i + 1]);
    }
    return found;
  }

  private Map<String, ?> answer(String line) {
    try {
      Map<?, ?> request = (Map<?, ?>) Json.parse(line);
      switch ((String) request.get("do")) {
        case "hello":
          return fields(
              "protocol", 1,
              "language", "java",
              "client", "0.1.0",
              "mechanisms", MECHANISMS,
              "steps", Arrays.asList("unwritten", "written", "charged", "sent"));
        case "collection":
          return collection(request);
        case "user":
          return user(request);
        case "report":
          return report(request);
        case "spent":
          return fields("spent", users.get(request.get("user")).spent());
        default:
          return fields("failed", "no such request");
      }
    } catch (StreamLdpException refused) {
      return fields("refused", reason(refused), "detail", refused.getMessage());
    } catch (RuntimeException fault) {
      return fields("failed", fault.toString());
    }
  }

  private static String reason(StreamLdpException refused) {
    Map<Class<?>, String> reasons = new LinkedHashMap<>();
    reasons.put(CollectionException.class, "bad_collection");
    reasons.put(DataException.class, "bad_record");
    reasons.put(DayBudgetExceededException.class, "day_budget_exceeded");
    reasons.put(SpanBudgetExceededException.class, "span_budget_exceeded");
    reasons.put(BudgetExceededException.class, "budget_exceeded");
    reasons.put(TooManyValuesException.class, "too_many_values");
    reasons.put(LinkingRefusedException.class, "linking_refused");
    reasons.put(LedgerException.class, "bad_ledger");
    return reasons.getOrDefault(refused.getClass(), refused.getClass().getSimpleName());
  }

  private Map<String, ?> collection(Map<?, ?> request) {
    CollectionSpec found =
        CollectionSpec.of(Json.canonical(request.get("document")), (String) request.get("meaning"));
    collections.put(found.name(), found);
    return fields("name", found.name(), "fingerprint", found.fingerprintHex());
  }

  private Map<String, ?> user(Map<?, ?> request) {
    String path = (String) request.get("path");
    Store store = path == null ? Store.inMemory() : new FileStore(Paths.get(path), this::crashAt);
    Secret secret = new Secret(Bytes.fromHex((String) request.get("secret")));
    Map<?, ?> terms = (Map<?, ?>) request.get("terms");
    Ledger ledger = terms == null ? Ledger.open(store) : Ledger.create(store, Terms.of(terms), secret);
    if (!ledger.secret().is(secret)) {
      throw new LedgerException("the ledger is another user's");
    }
    users.put((String) request.get("user"), ledger);
    return fields("spent", ledger.spent());
  }

  @SuppressWarnings("unchecked")
  private Map<String, ?> report(Map<?, ?> request) {
    CollectionSpec collection = collections.get(request.get("collection"));
    Ledger ledger = users.get(request.get("user"));
    long timeMs = (Long) request.get("time_ms");
    List<?> rounds = request.containsKey("rounds") ? (List<?>) request.get("rounds") : Collections.emptyList();
    Outlet outlet = new Outlet((List<Map<String, ?>>) (List<?>) rounds);
    Reporter.Builder builder = Reporter.of(collection, outlet).clock(() -> timeMs).mostReports(1_000_000);
    List<?> words = (List<?>) request.get("words");
    if (words != null) {
      builder.words(() -> cycled(words));
    }
    crash = request.containsKey("crash") ? (String) request.get("crash") : "";
    try {
      int times = request.containsKey("times") ? Math.toIntExact((Long) request.get("times")) : 1;
      List<Receipt> receipts =
          builder.build().report((Map<String, ?>) request.get("record"), ledger, times);
      Object receipt = receipts.isEmpty() ? null : receipts.get(receipts.size() - 1).toString();
      return fields("reports", outlet.reports, "spent", ledger.spent(), "receipt", receipt);
    } finally {
      crash = "";
    }
  }

  private static Words cycled(List<?> words) {
    return new Words() {
      private int used;

      @Override
      public long next() {
        return (Long) words.get(used++ % words.size());
      }
    };
  }

  private void crashAt(String step) {
    if (step.equals(crash)) {
      Runtime.getRuntime().halt(CRASHED);
    }
  }

  /** Takes the place of Kafka. */
  private final class Outlet implements Sender {
    private final List<Map<String, ?>> rounds;
    private int reports;

    Outlet(List<Map<String, ?>> rounds) {
      this.rounds = rounds;
    }

    @Override
    public boolean check(CollectionSpec collection) {
      return true;
    }

    @Override
    public List<Map<String, ?>> rounds(CollectionSpec collection) {
      return rounds;
    }

    @Override
    public void send(Batch batch) {
      crashAt("charged");
      List<Object> headers = new ArrayList<>();
      headers.add(Arrays.asList("content-type", Batch.CONTENT_TYPE));
      tell(
          fields(
              "left",
              fields(
                  "topic", "stream-ldp." + batch.collection() + ".reports",
                  "key", Bytes.hex(batch.id()),
                  "value", Bytes.hex(batch.bytes()),
                  "headers", headers,
                  "timestamp_ms", batch.timeMs())));
      reports += batch.reports();
      crashAt("sent");
    }
  }
}
