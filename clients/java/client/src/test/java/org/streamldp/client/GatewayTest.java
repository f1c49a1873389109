package org.streamldp.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A gateway that answers otherwise than hoped. The real one is in the tests of the repository. */
class GatewayTest {
  private HttpServer server;
  private final List<byte[]> taken = new ArrayList<>();
  private final List<String> answers = new ArrayList<>();

  @BeforeEach
  void start() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/", this::answer);
    server.start();
  }

  @AfterEach
  void stop() {
    server.stop(0);
  }

  private void answer(HttpExchange exchange) throws IOException {
    byte[] body = exchange.getRequestBody().readAllBytes();
    taken.add(body);
    assertEquals("stream-ldp", exchange.getRequestHeaders().getFirst("User-Agent"));
    String answer = answers.remove(0);
    exchange.getResponseHeaders().add("Retry-After", "0.01");
    byte[] text = answer.substring(4).getBytes(StandardCharsets.UTF_8);
    exchange.sendResponseHeaders(Integer.parseInt(answer.substring(0, 3)), text.length);
    exchange.getResponseBody().write(text);
    exchange.close();
  }

  private Gateway gateway() {
    return Gateway.at("http://127.0.0.1:" + server.getAddress().getPort() + "/")
        .token("a-token")
        .patience(Duration.ofSeconds(2))
        .build();
  }

  private static Batch batch() {
    List<byte[]> rows = new ArrayList<>(List.of(new byte[] {9}));
    return Batch.of(LedgerTest.SURVEY, LedgerTest.SURVEY.fingerprint(), 1_760_000_000_000L, rows);
  }

  @Test
  void whatPassesIsSentAgainAsTheSameBytes() {
    answers.addAll(List.of("503 {\"reason\":\"brokers\",\"detail\":\"\"}", "429 ", "200 {\"reports\":1}"));
    Batch batch = batch();
    gateway().send(batch);
    assertEquals(3, taken.size());
    taken.forEach(each -> assertArrayEquals(batch.bytes(), each));
  }

  @Test
  void whatIsRefusedIsNotSentAgain() {
    answers.add("400 {\"reason\":\"future_time\",\"detail\":\"the clock\"}");
    DeliveryException refused = assertThrows(DeliveryException.class, () -> gateway().send(batch()));
    assertEquals("future_time", refused.reason());
    assertEquals(1, taken.size());
    assertFalse((refused + " " + gateway()).contains("a-token"));
  }

  @Test
  void whatIsNoGatewayIsNamed() {
    answers.add("200 <html>");
    assertEquals("no_gateway", assertThrows(DeliveryException.class, () -> gateway().send(batch())).reason());
    answers.add("404 <html>");
    assertEquals("no_gateway", assertThrows(DeliveryException.class, () -> gateway().collection("x")).reason());
    assertThrows(IllegalArgumentException.class, () -> Gateway.at("reports.example"));
  }

  @Test
  void aCollectionThatIsAnotherOneThereGetsNoReport() {
    answers.add("200 {\"collections\":[{\"name\":\"care-survey\",\"fingerprint\":\"00\"}]}");
    assertThrows(CollectionException.class, () -> gateway().check(LedgerTest.SURVEY));
    answers.add("200 {\"collections\":[]}");
    assertThrows(CollectionException.class, () -> gateway().check(LedgerTest.SURVEY));
  }
}
