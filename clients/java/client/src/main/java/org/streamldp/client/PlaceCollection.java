package org.streamldp.client;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Collections of places: section 19 of docs/wire.md. */
final class PlaceCollection extends TurnCollection {
  private static final List<String> FIELDS = Arrays.asList("place", "region", "epsilon");

  private final List<String> places = new ArrayList<>();
  private final Map<String, Integer> numbers = new LinkedHashMap<>();

  /** First and end of each region, by its name, in the order of the file. */
  private final Map<String, int[]> regions = new LinkedHashMap<>();

  private final List<String> names = new ArrayList<>();
  private final double[] epsilons;
  private final String other;
  private final List<Randomizer> randomizers = new ArrayList<>();
  private final int answerBytes;

  PlaceCollection(Document document, String meaning, List<?> all, Turns turns) {
    super(document, meaning, turns);
    List<?> meant = turns.without(all);
    require(meant.size() == 4 && name().equals(meant.get(0)), "the meaning is of another collection");
    require("places".equals(meant.get(1)), "the meaning is of another kind than the document");
    List<?> given = document.object("mechanism").list("epsilon");
    epsilons = new double[given.size()];
    for (int i = 0; i < epsilons.length; i++) {
      epsilons[i] = ((Number) given.get(i)).doubleValue();
    }
    Arrays.sort(epsilons);
    other = document.text("other", null);
    String root = document.text("root", "everywhere");
    if (document.has("levels")) {
      even(document.list("levels"), root, "", 0);
    } else {
      named(document.value("places"), root);
    }
    names.addAll(regions.keySet());
    for (String each : places) {
      numbers.put(each, numbers.size());
    }
    require(places.equals(meant.get(2)), "the meaning has other places than the document");
    require(other == null || numbers.containsKey(other), "other is none of the places");
    answerBytes = checked((List<?>) meant.get(3));
  }

  private void named(Object nested, String name) {
    int first = places.size();
    int[] region = {first, first};
    require(regions.put(name, region) == null, "two regions have the name \"" + name + "\"");
    if (nested instanceof Map) {
      for (Map.Entry<?, ?> each : ((Map<?, ?>) nested).entrySet()) {
        named(each.getValue(), (String) each.getKey());
      }
    } else {
      for (Object each : (List<?>) nested) {
        places.add((String) each);
      }
    }
    region[1] = places.size();
  }

  private void even(List<?> levels, String root, String way, int depth) {
    int first = places.size();
    int[] region = {first, first};
    if (depth < levels.size()) {
      regions.put(way.isEmpty() ? root : way, region);
      for (long part = 0; part < (Long) levels.get(depth); part++) {
        even(levels, root, way.isEmpty() ? Long.toString(part) : way + "." + part, depth + 1);
      }
    } else {
      places.add(way);
    }
    region[1] = places.size();
  }

  /** Reads the questions, and returns the bytes of the longest answer. */
  private int checked(List<?> questions) {
    require(
        questions.size() == names.size() * epsilons.length, "the meaning has other regions or epsilons than the document");
    int longest = 0;
    for (Object each : questions) {
      List<?> question = (List<?>) each;
      int number = randomizers.size();
      int[] region = regions.get(names.get(number / epsilons.length));
      Randomizer randomizer = new Randomizer(question.get(2), question.get(3));
      require(
          (Long) question.get(0) == region[0]
              && (Long) question.get(1) == region[1]
              && randomizer.parameter(0) == region[1] - region[0],
          "a region has other places than in the document");
      randomizer.requireAtMost(epsilons[number % epsilons.length], "an answer to question " + number);
      randomizers.add(randomizer);
      longest = Math.max(longest, Bytes.bytesOf(randomizer.bits()));
    }
    return longest;
  }

  @Override
  Object held(Map<String, ?> record) {
    requireKnown(record, FIELDS, name());
    Integer place = numbers.get(String.valueOf(field(record, "place")));
    if (place == null) {
      if (other == null) {
        throw new DataException("the place is not one of collection \"" + name() + "\", which has none for others");
      }
      place = numbers.get(other);
    }
    // A client that may not choose for its user takes the root and the least epsilon.
    Object said = record.get("region");
    int region = said == null ? 0 : names.indexOf(said.toString());
    int chosen = 0;
    if (record.get("epsilon") != null) {
      chosen = Arrays.binarySearch(epsilons, Attribute.numberIn(record.get("epsilon")));
    }
    if (region < 0 || chosen < 0) {
      throw new DataException("collection \"" + name() + "\" does not have the region, or not the epsilon");
    }
    int[] within = regions.get(names.get(region));
    if (place < within[0] || place >= within[1]) {
      throw new DataException("the place is not in the region: its user chooses another one; nothing was sent");
    }
    return new int[] {region * epsilons.length + chosen, place};
  }

  private byte[] madeOf(int[] held) {
    return Bytes.writer().bytes(ownFingerprint()).u16(held[0]).i64(held[1]).all();
  }

  @Override
  public Charge charge(Object given, Secret secret, Secret tags) {
    int[] held = (int[]) given;
    int chosen = held[0] % epsilons.length;
    Charge charge = new Charge(name(), false);
    String tag = tags == null ? null : Charge.tag(tags, madeOf(held));
    // The user has chosen the epsilon, and is charged that.
    Cost cost = Cost.once(epsilons[chosen]);
    charge.shown.add(new Charge.Shown(fingerprintHex() + " " + chosen, "place", cost, tag));
    return charge;
  }

  @Override
  public byte[] row(Object given, Secret key, long timeMs, Words fresh) {
    int[] held = (int[]) given;
    Words words = key == null ? fresh : Words.keyed(key, AskingCollection.ANSWERS, madeOf(held));
    int first = regions.get(names.get(held[0] / epsilons.length))[0];
    byte[] answer = randomizers.get(held[0]).answer(held[1] - first, null, words);
    return AskingCollection.rowOf(held[0], randomizers.size(), answer, answerBytes);
  }
}
