package org.streamldp.client;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/** Bytes: read, written in little-endian order, in hexadecimal, and digested. */
final class Bytes {
  private static final String DIGITS = "0123456789abcdef";

  private Bytes() {}

  /** A sequence of bytes that grows. */
  static final class Writer {
    private final ByteArrayOutputStream written = new ByteArrayOutputStream();

    Writer bytes(byte[] bytes) {
      written.write(bytes, 0, bytes.length);
      return this;
    }

    Writer u8(long number) {
      return little(number, 1);
    }

    Writer u16(long number) {
      return little(number, 2);
    }

    Writer u32(long number) {
      return little(number, 4);
    }

    Writer i64(long number) {
      return little(number, 8);
    }

    Writer little(long number, int size) {
      for (int i = 0; i < size; i++) {
        written.write((int) (number >>> (8 * i)) & 0xff);
      }
      return this;
    }

    byte[] all() {
      return written.toByteArray();
    }
  }

  static Writer writer() {
    return new Writer();
  }

  static long i64(byte[] bytes, int at) {
    return (bytes[at] & 0xffL)
        | (bytes[at + 1] & 0xffL) << 8
        | (bytes[at + 2] & 0xffL) << 16
        | (bytes[at + 3] & 0xffL) << 24
        | (bytes[at + 4] & 0xffL) << 32
        | (bytes[at + 5] & 0xffL) << 40
        | (bytes[at + 6] & 0xffL) << 48
        | (bytes[at + 7] & 0xffL) << 56;
  }

  static long u32(byte[] bytes, int at) {
    return (bytes[at] & 0xffL)
        | (bytes[at + 1] & 0xffL) << 8
        | (bytes[at + 2] & 0xffL) << 16
        | (bytes[at + 3] & 0xffL) << 24;
  }

  /** Writes an integer of 4 bytes at a place. */
  static void put32(byte[] bytes, int at, long number) {
    for (int i = 0; i < 4; i++) {
      bytes[at + i] = (byte) (number >>> (8 * i));
    }
  }

  /** Writes an integer of 8 bytes at a place. */
  static void put64(byte[] bytes, int at, long number) {
    for (int i = 0; i < 8; i++) {
      bytes[at + i] = (byte) (number >>> (8 * i));
    }
  }

  /** Writes a number of so many bits, the least significant first, from a bit on; these bits are 0 before. */
  static void putBits(byte[] row, int from, long number, int count) {
    for (int i = 0; i < count; i++) {
      if ((number >>> i & 1) != 0) {
        setBit(row, from + i);
      }
    }
  }

  static void setBit(byte[] row, int bit) {
    row[bit >> 3] |= (byte) (1 << (bit & 7));
  }

  static boolean bit(byte[] row, int bit) {
    return (row[bit >> 3] >> (bit & 7) & 1) != 0;
  }

  /** Returns the number of bytes that so many bits take. */
  static int bytesOf(int bits) {
    return (bits + 7) / 8;
  }

  /** Returns the number of bits that the numbers from 0 to below a count take, at least 1. */
  static int width(long count) {
    return Math.max(1, 64 - Long.numberOfLeadingZeros(count - 1));
  }

  static byte[] utf8(String text) {
    // Halves of a pair that stand alone, which UTF-8 cannot write, would become question marks.
    StringBuilder whole = null;
    for (int i = 0; i < text.length(); i++) {
      char each = text.charAt(i);
      if (Character.isHighSurrogate(each) && i + 1 < text.length() && Character.isLowSurrogate(text.charAt(i + 1))) {
        i++;
      } else if (Character.isSurrogate(each)) {
        whole = whole == null ? new StringBuilder(text) : whole;
        whole.setCharAt(i, '\ufffd');
      }
    }
    return (whole == null ? text : whole.toString()).getBytes(StandardCharsets.UTF_8);
  }

  static byte[] sha256(byte[] bytes) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(bytes);
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException("every Java platform has SHA-256", impossible);
    }
  }

  static String hex(byte[] bytes) {
    StringBuilder text = new StringBuilder(2 * bytes.length);
    for (byte each : bytes) {
      text.append(DIGITS.charAt(each >> 4 & 15)).append(DIGITS.charAt(each & 15));
    }
    return text.toString();
  }

  /**
   * Reads hexadecimal digits in lower case.
   *
   * @throws IllegalArgumentException the text is something else; it is not repeated
   */
  static byte[] fromHex(String text) {
    byte[] bytes = new byte[text.length() / 2];
    for (int i = 0; i < text.length(); i++) {
      int digit = DIGITS.indexOf(text.charAt(i));
      if (digit < 0 || text.length() % 2 != 0) {
        throw new IllegalArgumentException("not pairs of hexadecimal digits in lower case");
      }
      bytes[i / 2] |= (byte) (i % 2 == 0 ? digit << 4 : digit);
    }
    return bytes;
  }
}
