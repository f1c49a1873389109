package org.streamldp.client;

import java.util.Arrays;
import java.util.List;

/**
 * What reports of one permanent response cost, in nats: rules 5 and 6 of section 15 of docs/wire.md. Never too little.
 *
 * <p>A cost is plain data, which the ledger keeps: what was spent does not depend on a later release.
 */
final class Cost {
  /** Errors of exp, log, pow and the sums of a cost are below these, relative and absolute; costs are rounded up. */
  static final double RELATIVE_ERROR = 0x1p-40;

  static final double ABSOLUTE_ERROR = 0x1p-40;

  private final List<?> parts;

  private Cost(List<?> parts) {
    this.parts = parts;
  }

  /** The cost of what costs so much, however often it is reported. */
  static Cost once(double nats) {
    return new Cost(Arrays.asList("once", nats));
  }

  static Cost rrLdp(long f, long p, long q) {
    return new Cost(Arrays.asList("rr-ldp", f, p, q));
  }

  /** The cost of a Bloom filter that every report perturbs again, by so many hashes. */
  static Cost bloom(long hashes, long kept, long p, long q) {
    return new Cost(Arrays.asList("bloom", hashes, kept, p, q));
  }

  /** The cost of k-RR that every report perturbs again. */
  static Cost repeated(long size, long kept, long fresh) {
    return new Cost(Arrays.asList("repeated", size, kept, fresh));
  }

  static Cost loloha(long permanent, long fresh) {
    return new Cost(Arrays.asList("loloha", permanent, fresh));
  }

  /** Reads what {@link #data} has written; an unchecked exception if it is something else. */
  static Cost of(Object data) {
    Cost found = new Cost((List<?>) data);
    if (!(found.nats(1) >= 0)) {
      throw new IllegalArgumentException("no cost");
    }
    return found;
  }

  List<?> data() {
    return parts;
  }

  /** Whether it is rounded up for each number of reports; the cost of what costs once is one number. */
  boolean isRounded() {
    return !parts.get(0).equals("once");
  }

  private double part(int place) {
    return ((Number) parts.get(place)).doubleValue();
  }

  static double roundedUp(double nats) {
    return nats * (1 + RELATIVE_ERROR) + ABSOLUTE_ERROR;
  }

  /**
   * Returns what so many reports of one response cost.
   *
   * @param times 1 or more, also infinite
   */
  double nats(double times) {
    double whole = Exact.WHOLE;
    switch ((String) parts.get(0)) {
      case "once":
        return part(1);
      case "rr-ldp":
        return roundedUp(bit((whole - part(1)) / whole, part(2), part(3), times));
      case "bloom":
        return roundedUp(part(1) * bit(part(2) / whole, part(3), part(4), times));
      case "repeated":
        {
          double others = part(1) - 1;
          double p = part(2) / whole;
          double q = (whole - part(2)) / others / whole;
          double x = Math.pow((whole - part(3)) / (others * part(3)), times);
          return roundedUp(Math.log((p + others * q * x) / (q + (p + (others - 1) * q) * x)));
        }
      case "loloha":
        {
          double h = part(1) / whole;
          double k = 1 - h;
          double u = Math.pow((whole - part(2)) / part(2), times);
          return roundedUp(Math.log((h + k * u) / (k + h * u)));
        }
      default:
        throw new IllegalArgumentException("no cost");
    }
  }

  /** Returns what a value costs whose bit is kept with a chance, and then shown so often through p and q. */
  private static double bit(double k, double p, double q, double times) {
    double h = 1 - k;
    double u = Math.pow(p / q, times);
    double d = Math.pow((Exact.WHOLE - q) / (Exact.WHOLE - p), times);
    return Math.log((k + h * u) / (h + k * u)) + Math.log((k + h * d) / (h + k * d));
  }

  /**
   * Returns what so many reports of several responses cost, shared out among them as costs most.
   *
   * <p>Evenly; but where a second report of a response may cost more than the first, that may cost less than another
   * sharing, and each is charged for ever.
   */
  double nats(int responses, long reports) {
    if (responses == 0 || reports == 0) {
      return 0;
    }
    if (responses > 1 && nats(2) > 2 * nats(1)) {
      return responses * nats(Double.POSITIVE_INFINITY);
    }
    long times = reports / responses;
    long more = reports % responses;
    return (more > 0 ? more * nats(times + 1) : 0) + (times > 0 ? (responses - more) * nats(times) : 0);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Cost && parts.equals(((Cost) other).parts);
  }

  @Override
  public int hashCode() {
    return parts.hashCode();
  }
}
