package org.streamldp.client;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

/** BLAKE2b by the vectors of RFC 7693, and those of its reference implementation. */
class Blake2bTest {
  private static String digest(byte[] key, int length, byte[] data) {
    return Bytes.hex(new Blake2b(key, "", length).digest(data));
  }

  private static byte[] counted(int count) {
    byte[] found = new byte[count];
    for (int i = 0; i < count; i++) {
      found[i] = (byte) i;
    }
    return found;
  }

  @Test
  void theExampleOfTheRfcHasItsDigest() {
    assertEquals(
        "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
            + "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923",
        digest(new byte[0], 64, "abc".getBytes(StandardCharsets.US_ASCII)));
  }

  /** The self-test of RFC 7693, appendix E: digests of digests, of all lengths around those of blocks. */
  @Test
  void theSelfTestOfTheRfcPasses() {
    int[] lengths = {20, 32, 48, 64};
    int[] sizes = {0, 3, 128, 129, 255, 1024};
    Bytes.Writer all = Bytes.writer();
    for (int length : lengths) {
      for (int size : sizes) {
        byte[] data = sequence(size, size);
        all.bytes(new Blake2b(new byte[0], "", length).digest(data));
        all.bytes(new Blake2b(sequence(length, length), "", length).digest(data));
      }
    }
    assertEquals(
        "c23a7800d98123bd10f506c61e29da5603d763b8bbad2e737f5e765a7bccd475", digest(new byte[0], 32, all.all()));
  }

  private static byte[] sequence(int length, int seed) {
    int a = 0xDEAD4BAD * seed;
    int b = 1;
    byte[] found = new byte[length];
    for (int i = 0; i < length; i++) {
      int t = a + b;
      a = b;
      b = t;
      found[i] = (byte) (t >>> 24);
    }
    return found;
  }

  @Test
  void aKeyOfNoDataHasItsDigest() {
    assertEquals(
        "10ebb67700b1868efb4417987acf4690ae9d972fb7a590c2f02871799aaa4786"
            + "b5e996e8f0f4eb981fc214b005f42d2ff4233499391653df7aefcbc13fc51568",
        digest(counted(64), 64, new byte[0]));
  }

  @Test
  void digestsAtOnceAreThoseOfOneAfterAnother() {
    Blake2bLanes lanes = new Blake2bLanes();
    for (int length = 4; length <= 64; length += 20) {
      Blake2b digests = new Blake2b(counted(32), "stream-ldp prr 1", length);
      byte[][] inputs = new byte[Blake2bLanes.COUNT][];
      for (int count = 1; count <= inputs.length; count++) {
        inputs[count - 1] = sequence(40, count);
        lanes.digest(digests, inputs, count, 40);
        for (int lane = 0; lane < count; lane++) {
          byte[] one = digests.digest(inputs[lane]);
          for (int word = 0; word < length / 4; word++) {
            assertEquals(Bytes.u32(one, 4 * word), lanes.word(lane, word));
          }
        }
      }
    }
  }
}
