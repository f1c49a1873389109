package org.streamldp.client;

/** The secret of a user, 32 bytes, from which all that is permanent in the user's reports comes. It is never sent. */
final class Secret {
  static final int BYTES = 32;

  private final byte[] bytes;

  Secret(byte[] bytes) {
    if (bytes.length != BYTES) {
      throw new IllegalArgumentException("a secret has 32 bytes");
    }
    this.bytes = bytes.clone();
  }

  static Secret drawn() {
    return new Secret(Words.System.bytes(BYTES));
  }

  Blake2b digests(String person, int length) {
    return new Blake2b(bytes, person, length);
  }

  byte[] keyed(String person, int length, byte[] data) {
    return digests(person, length).digest(data);
  }

  /** Returns the word of a digest of 4 bytes. */
  long word(String person, byte[] data) {
    return Bytes.u32(keyed(person, 4, data), 0);
  }

  /** Returns a secret for one purpose: a digest made with this one might be a permanent response. */
  Secret derived(String person) {
    return new Secret(keyed(person, BYTES, new byte[0]));
  }

  String hex() {
    return Bytes.hex(bytes);
  }

  boolean is(Secret other) {
    return java.security.MessageDigest.isEqual(bytes, other.bytes);
  }

  @Override
  public String toString() {
    return "a secret";
  }
}
