package org.streamldp.client;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

/** All that a ledger keeps, as a value: the secret, the terms, and what was spent. No value of a record enters it. */
final class Book {
  private static final int VERSION = 1;
  private static final String SEAL_PERSON = "stream-ldp sea 1";
  private static final String TAG_KEY_PERSON = "stream-ldp key 1";

  /**
   * Most days whose spending is remembered. The budget of a day that is forgotten would begin anew if a clock went back
   * to it; a clock that is wrong in turns by so many different days is not to be expected.
   */
  private static final int MOST_DAYS = 8;

  /** Most ranges of epochs that are remembered of a phase; beyond it, the two that are nearest become one. */
  private static final int MOST_RANGES = 64;

  private static final long DAY_MS = 86_400_000;

  /** Parts of the days that have a budget of their own: a charge counts for longer than them by one part, 1.6 %. */
  private static final int SPAN_PARTS = 64;

  /** The reports that have shown permanent responses of one set, at one price. */
  private static final class Account {
    final String collection;
    final String about;
    final String responses;
    final Cost cost;
    final TreeSet<String> tags = new TreeSet<>(); // in order, or it would show which came first
    long memoised;
    long fresh;

    Account(String collection, String about, String responses, Cost cost) {
      this.collection = collection;
      this.about = about;
      this.responses = responses;
      this.cost = cost;
    }

    double nats() {
      return cost.nats(tags.size(), memoised) + fresh * (fresh > 0 ? cost.nats(1) : 0);
    }
  }

  /** The reports to one phase of a collection, at one price. */
  private static final class PhaseAccount {
    final String fingerprint;
    final int phase;
    final double epsilon;
    final List<long[]> epochs = new ArrayList<>();
    long reports;

    PhaseAccount(String fingerprint, int phase, double epsilon) {
      this.fingerprint = fingerprint;
      this.phase = phase;
      this.epsilon = epsilon;
    }

    boolean isOver(long epoch) {
      for (long[] range : epochs) {
        if (range[0] <= epoch && epoch <= range[1]) {
          return true;
        }
      }
      return false;
    }

    void add(long epoch) {
      reports++;
      int place = 0;
      while (place < epochs.size() && epochs.get(place)[0] < epoch) {
        place++;
      }
      epochs.add(place, new long[] {epoch, epoch});
      while (true) {
        int nearest = -1;
        for (int i = 0; i + 1 < epochs.size(); i++) {
          if (nearest < 0 || gap(i) < gap(nearest)) {
            nearest = i;
          }
        }
        if (nearest < 0 || gap(nearest) > 1 && epochs.size() <= MOST_RANGES) {
          return;
        }
        epochs.get(nearest)[1] = epochs.remove(nearest + 1)[1];
      }
    }

    private long gap(int place) {
      return epochs.get(place + 1)[0] - epochs.get(place)[1];
    }
  }

  final Secret secret;
  Terms terms;
  private final List<Account> accounts = new ArrayList<>();
  private final List<PhaseAccount> phases = new ArrayList<>();
  private final Map<Long, Double> days = new LinkedHashMap<>();

  /** What was spent by when, for the budget of some days; times are rounded up. */
  private final TreeMap<Long, Double> recent = new TreeMap<>();

  /** The last turn in each collection whose users take turns, by its fingerprint. */
  private final Map<String, Long> turns = new LinkedHashMap<>();

  Book(Secret secret, Terms terms) {
    this.secret = secret;
    this.terms = terms;
  }

  /** Returns the key of the names of permanent responses; null where they are drawn afresh. */
  Secret tags() {
    return terms.isFresh() ? null : secret.derived(TAG_KEY_PERSON);
  }

  /** Returns what all reports have cost, in nats. */
  double spent() {
    double sum = 0;
    for (Account each : accounts) {
      sum += each.nats();
    }
    for (PhaseAccount each : phases) {
      sum += each.epsilon * each.reports;
    }
    return sum;
  }

  /** Whether the user has reported to a phase in an epoch, or may have. */
  boolean isOver(Charge charge) {
    for (PhaseAccount each : phases) {
      boolean isSame = each.fingerprint.equals(charge.fingerprint) && each.phase == charge.phase;
      if (isSame && each.isOver(charge.epoch)) {
        return true;
      }
    }
    return false;
  }

  /**
   * Takes a turn, where users take them, and returns whether the user has it. Turns only go forward: a clock that was ahead
   * costs the turns until then, and one that is behind gives none.
   */
  boolean takes(Turns.Turn turn) {
    if (turn == null) {
      return true;
    }
    Long last = turns.get(turn.fingerprint);
    if (last != null && turn.number < last + turn.every && !(turn.isAgain && turn.number == last)) {
      return false;
    }
    turns.put(turn.fingerprint, turn.number);
    return true;
  }

  /**
   * Counts so many reports that show the same, at a time.
   *
   * @throws ReportRefusedException the terms do not allow them; the book is of no use then
   */
  void count(Charge charge, long times, long timeMs) {
    long day = Math.floorDiv(timeMs, DAY_MS);
    if (charge.isLinked && !terms.isLinked()) {
      throw new LinkingRefusedException(
          "collection \""
              + charge.collection
              + "\" links the reports of a user, by a pseudonym or what is as good as one, and this user has not agreed"
              + " to that: nothing was sent; if the user agrees: ledger.agree(ledger.terms().but().linked(true).build())");
    }
    double before = spent();
    int costs = accounts.size() + charge.shown.size();
    for (Charge.Shown each : charge.shown) {
      show(charge, each, times);
    }
    if (charge.fingerprint != null) {
      phase(charge).add(charge.epoch);
    }
    double after = spent();
    // What costs nothing more may be sent, even where stricter terms leave nothing.
    if (!(after <= Math.max(terms.budget(), before))) {
      throw new BudgetExceededException(
          tooDear(after - before, terms.budget() - before) + " of a budget of " + terms.budget() + ": nothing was sent");
    }
    double cost = Math.max(0, after - before);
    // What is not rounded must fit into a budget that is as large, and what costs nothing more into one that is spent.
    if (before > 0 && charge.shown.stream().anyMatch(each -> each.cost.isRounded())) {
      // Both costs are rounded up: the rounding of what is subtracted is not the user's.
      cost += 2 * (Cost.RELATIVE_ERROR * before + Cost.ABSOLUTE_ERROR * costs);
    }
    double earlier = days.getOrDefault(day, 0.0);
    double today = earlier + cost;
    if (!(today <= Math.max(terms.perDay(), earlier))) {
      throw new DayBudgetExceededException(
          tooDear(after - before, terms.perDay() - earlier)
              + " of "
              + terms.perDay()
              + " a day, until 00:00 UTC: nothing was sent");
    }
    inSpan(timeMs, cost);
    days.remove(day);
    days.put(day, today);
    while (days.size() > MOST_DAYS) {
      days.remove(days.keySet().iterator().next());
    }
  }

  /** Counts a cost in the budget of some days; what lies ahead of a clock that was set back counts, too. */
  private void inSpan(long timeMs, double cost) {
    long spanMs = terms.spanDays() * DAY_MS;
    if (spanMs == 0) {
      recent.clear();
      return;
    }
    // What has counted for twice the span is forgotten: a clock that was ahead by less has renewed nothing.
    recent.headMap(timeMs - 2 * spanMs, true).clear();
    double earlier = 0;
    for (double each : recent.tailMap(timeMs - spanMs, false).values()) {
      earlier += each;
    }
    if (!(earlier + cost <= terms.perSpan())) {
      throw new SpanBudgetExceededException(
          tooDear(cost, terms.perSpan() - earlier)
              + " of "
              + terms.perSpan()
              + " in any "
              + terms.spanDays()
              + (terms.spanDays() == 1 ? " day" : " days")
              + ": nothing was sent");
    }
    if (cost > 0) {
      long partMs = spanMs / SPAN_PARTS;
      recent.merge((Math.floorDiv(timeMs, partMs) + 1) * partMs, cost, Double::sum);
    }
  }

  private static String tooDear(double cost, double left) {
    // The cost is rounded up and the rest down, or a report that exceeds it by little would look as if it fitted.
    return String.format(
        java.util.Locale.ROOT,
        "to report this would cost %.3f nats of privacy, and %.3f are left",
        Math.ceil(cost * 1000) / 1000,
        Math.floor(Math.max(0, left) * 1000) / 1000);
  }

  private void show(Charge charge, Charge.Shown shown, long times) {
    Account account = null;
    TreeSet<String> known = new TreeSet<>();
    for (Account each : accounts) {
      if (each.responses.equals(shown.responses)) {
        known.addAll(each.tags);
        account = each.cost.equals(shown.cost) ? each : account;
      }
    }
    if (account == null) {
      account = new Account(charge.collection, shown.about, shown.responses, shown.cost);
      accounts.add(account);
    }
    if (shown.tag == null) {
      account.fresh += times;
      return;
    }
    if (!known.contains(shown.tag) && known.size() >= terms.values()) {
      throw new TooManyValuesException(
          "\""
              + shown.about
              + "\" of collection \""
              + charge.collection
              + "\" has had another value in earlier reports, and the user has agreed to report "
              + terms.values()
              + ": nothing was sent");
    }
    account.tags.add(shown.tag);
    account.memoised += times;
  }

  private PhaseAccount phase(Charge charge) {
    for (PhaseAccount each : phases) {
      boolean isSame = each.fingerprint.equals(charge.fingerprint) && each.phase == charge.phase;
      if (isSame && each.epsilon == charge.epsilon) {
        return each;
      }
    }
    PhaseAccount made = new PhaseAccount(charge.fingerprint, charge.phase, charge.epsilon);
    phases.add(made);
    return made;
  }

  /** Writes it on one line of JSON, and a seal on the next. */
  String text() {
    Map<String, Object> data = new LinkedHashMap<>();
    data.put("version", VERSION);
    data.put("secret", secret.hex());
    data.put("terms", terms.data());
    List<Object> listed = new ArrayList<>();
    for (Account each : accounts) {
      Map<String, Object> account = new LinkedHashMap<>();
      account.put("collection", each.collection);
      account.put("about", each.about);
      account.put("responses", each.responses);
      account.put("cost", each.cost.data());
      account.put("tags", each.tags);
      account.put("memoised", each.memoised);
      account.put("fresh", each.fresh);
      listed.add(account);
    }
    data.put("accounts", listed);
    List<Object> phased = new ArrayList<>();
    for (PhaseAccount each : phases) {
      Map<String, Object> phase = new LinkedHashMap<>();
      phase.put("fingerprint", each.fingerprint);
      phase.put("phase", each.phase);
      phase.put("epsilon", each.epsilon);
      List<Object> ranges = new ArrayList<>();
      for (long[] range : each.epochs) {
        ranges.add(Arrays.asList(range[0], range[1]));
      }
      phase.put("epochs", ranges);
      phase.put("reports", each.reports);
      phased.add(phase);
    }
    data.put("phases", phased);
    List<Object> dated = new ArrayList<>();
    for (Map.Entry<Long, Double> each : days.entrySet()) {
      dated.add(Arrays.asList(each.getKey(), each.getValue()));
    }
    data.put("days", dated);
    data.put("turns", turns);
    List<Object> spans = new ArrayList<>();
    for (Map.Entry<Long, Double> each : recent.entrySet()) {
      spans.add(Arrays.asList(each.getKey(), each.getValue()));
    }
    data.put("recent", spans);
    String line = Json.canonical(data);
    return line + "\n" + seal(secret, line) + "\n";
  }

  private static String seal(Secret secret, String line) {
    return Bytes.hex(secret.derived(SEAL_PERSON).keyed(SEAL_PERSON, Secret.BYTES, Bytes.utf8(line)));
  }

  /**
   * Reads what {@link #text} has written.
   *
   * @throws RuntimeException it is damaged; what is wrong with it may repeat the secret, and is not to be told
   */
  static Book of(String text) {
    String[] lines = text.split("\n", -1);
    Map<?, ?> data = (Map<?, ?>) Json.parse(lines[0]);
    Secret secret = new Secret(Bytes.fromHex((String) data.get("secret")));
    if (lines.length != 3 || !seal(secret, lines[0]).equals(lines[1]) || !data.get("version").equals((long) VERSION)) {
      throw new IllegalArgumentException("damaged");
    }
    Book book = new Book(secret, Terms.of((Map<?, ?>) data.get("terms")));
    for (Object each : (List<?>) data.get("accounts")) {
      Map<?, ?> account = (Map<?, ?>) each;
      Account made =
          new Account(
              (String) account.get("collection"),
              (String) account.get("about"),
              (String) account.get("responses"),
              Cost.of(account.get("cost")));
      for (Object tag : (List<?>) account.get("tags")) {
        made.tags.add((String) tag);
      }
      made.memoised = (Long) account.get("memoised");
      made.fresh = (Long) account.get("fresh");
      book.accounts.add(made);
    }
    for (Object each : (List<?>) data.get("phases")) {
      Map<?, ?> phase = (Map<?, ?>) each;
      PhaseAccount made =
          new PhaseAccount(
              (String) phase.get("fingerprint"),
              Math.toIntExact((Long) phase.get("phase")),
              ((Number) phase.get("epsilon")).doubleValue());
      for (Object range : (List<?>) phase.get("epochs")) {
        made.epochs.add(new long[] {(Long) ((List<?>) range).get(0), (Long) ((List<?>) range).get(1)});
      }
      made.reports = (Long) phase.get("reports");
      book.phases.add(made);
    }
    for (Object each : (List<?>) data.get("days")) {
      book.days.put((Long) ((List<?>) each).get(0), ((Number) ((List<?>) each).get(1)).doubleValue());
    }
    for (Object each : (List<?>) data.get("recent")) {
      book.recent.put((Long) ((List<?>) each).get(0), ((Number) ((List<?>) each).get(1)).doubleValue());
    }
    for (Map.Entry<?, ?> each : ((Map<?, ?>) data.get("turns")).entrySet()) {
      book.turns.put((String) each.getKey(), (Long) each.getValue());
    }
    return book;
  }
}
