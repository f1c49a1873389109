package org.streamldp.client;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** An object of a collection's document, read with errors that name the place. */
final class Document {
  private final Map<?, ?> fields;
  private final String place;

  private Document(Object value, String place) {
    if (!(value instanceof Map)) {
      throw new CollectionException((place.isEmpty() ? "the document" : place) + " is no object");
    }
    fields = (Map<?, ?>) value;
    this.place = place;
  }

  static Document of(Object value) {
    return new Document(value, "");
  }

  boolean has(String name) {
    return fields.get(name) != null;
  }

  Object value(String name) {
    return fields.get(name);
  }

  private CollectionException wrong(String name, String expected) {
    return new CollectionException((place.isEmpty() ? "" : place + ".") + name + ": expected " + expected);
  }

  Document object(String name) {
    return new Document(fields.get(name), (place.isEmpty() ? "" : place + ".") + name);
  }

  List<Document> objects(String name) {
    List<Document> found = new ArrayList<>();
    for (Object each : list(name)) {
      found.add(new Document(each, name + "[" + found.size() + "]"));
    }
    return found;
  }

  List<?> list(String name) {
    Object value = fields.get(name);
    if (!(value instanceof List) || ((List<?>) value).isEmpty()) {
      throw wrong(name, "a list that is not empty");
    }
    return (List<?>) value;
  }

  String text(String name) {
    Object value = fields.get(name);
    if (!(value instanceof String) || ((String) value).isEmpty()) {
      throw wrong(name, "a text that is not empty");
    }
    return (String) value;
  }

  String text(String name, String otherwise) {
    return has(name) ? text(name) : otherwise;
  }

  double number(String name) {
    Object value = fields.get(name);
    if (!(value instanceof Number)) {
      throw wrong(name, "a number");
    }
    return ((Number) value).doubleValue();
  }

  double number(String name, double otherwise) {
    return has(name) ? number(name) : otherwise;
  }

  /** Returns a number that is positive and finite. */
  double positive(String name) {
    double found = number(name);
    if (!(found > 0 && found < Double.POSITIVE_INFINITY)) {
      throw wrong(name, "a number above 0");
    }
    return found;
  }

  /** Returns a whole number from 1 on. */
  long count(String name) {
    Object value = fields.get(name);
    if (!(value instanceof Long) || (Long) value < 1) {
      throw wrong(name, "a whole number from 1 on");
    }
    return (Long) value;
  }

  long count(String name, long otherwise) {
    return has(name) ? count(name) : otherwise;
  }

  boolean isTrue(String name, boolean otherwise) {
    if (!has(name)) {
      return otherwise;
    }
    if (!(fields.get(name) instanceof Boolean)) {
      throw wrong(name, "true or false");
    }
    return (Boolean) fields.get(name);
  }

  /** Returns a list of texts, each once. */
  List<String> names(String name) {
    List<String> found = new ArrayList<>();
    for (Object each : list(name)) {
      if (!(each instanceof String) || ((String) each).isEmpty() || found.contains(each)) {
        throw wrong(name, "a list of texts, none of them twice");
      }
      found.add((String) each);
    }
    return found;
  }
}
