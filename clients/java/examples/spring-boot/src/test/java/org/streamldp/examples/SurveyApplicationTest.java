package org.streamldp.examples;

import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.hamcrest.Matchers.startsWith;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.post;
import static org.springframework.test.web.servlet.result.MockMvcResultMatchers.content;
import static org.springframework.test.web.servlet.result.MockMvcResultMatchers.jsonPath;
import static org.springframework.test.web.servlet.result.MockMvcResultMatchers.status;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.autoconfigure.web.servlet.AutoConfigureMockMvc;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.http.MediaType;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;
import org.springframework.test.web.servlet.MockMvc;
import org.springframework.test.web.servlet.ResultActions;

/** The application, before a gateway that takes everything. */
@SpringBootTest
@AutoConfigureMockMvc
class SurveyApplicationTest {
  private static final String DOCUMENT =
      "{\"collection\":\"care-survey\",\"window\":{\"size\":60000},\"mechanism\":{\"kind\":\"k-rr\",\"epsilon\":2.0},"
          + "\"attributes\":[{\"name\":\"bathing\",\"values\":[\"no\",\"yes\"]},"
          + "{\"name\":\"mobility\",\"values\":[\"none\",\"some\",\"full\"]}]}";
  private static final String MEANING =
      "[\"care-survey\",\"k-rr\",[3782994644,3380079312],[[\"bathing\",[\"no\",\"yes\"]],"
          + "[\"mobility\",[\"none\",\"some\",\"full\"]]]]";

  private static HttpServer gateway;

  @Autowired private MockMvc application;

  @DynamicPropertySource
  static void settings(DynamicPropertyRegistry registry) throws IOException {
    gateway = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    gateway.createContext("/", SurveyApplicationTest::answer);
    gateway.start();
    registry.add("survey.gateway", () -> "http://127.0.0.1:" + gateway.getAddress().getPort());
    registry.add("survey.collection", () -> "care-survey");
    Path ledgers = Files.createTempDirectory("ledgers");
    registry.add("survey.ledgers", ledgers::toString);
  }

  private static void answer(HttpExchange exchange) throws IOException {
    String path = exchange.getRequestURI().getPath();
    String answer =
        path.endsWith("/document")
            ? DOCUMENT
            : path.endsWith("/meaning")
                ? MEANING
                : path.endsWith("/batches")
                    ? "{\"reports\": 1}"
                    : "{\"collections\":[{\"name\":\"care-survey\",\"fingerprint\":\"ad28e3b33062366578c06093ba53ef1d\"}]}";
    exchange.getRequestBody().readAllBytes();
    byte[] bytes = answer.getBytes(StandardCharsets.UTF_8);
    exchange.sendResponseHeaders(200, bytes.length);
    exchange.getResponseBody().write(bytes);
    exchange.close();
  }

  @AfterAll
  static void stop() {
    gateway.stop(0);
  }

  private ResultActions answers(String user, String mobility) throws Exception {
    String record = "{\"bathing\":\"no\",\"mobility\":\"" + mobility + "\"}";
    return application.perform(
        post("/users/" + user + "/answers").contentType(MediaType.APPLICATION_JSON).content(record));
  }

  @Test
  void anAnswerIsReportedOnceAndItsUserGetsAReceipt() throws Exception {
    answers("1", "some").andExpect(status().isOk()).andExpect(jsonPath("$[0]", startsWith("Sent to care-survey: 1 byte")));
    // k-RR repeats its answer, at no further cost; another answer is a change to which the user has not agreed.
    answers("1", "some").andExpect(status().isOk());
    answers("1", "full").andExpect(status().isConflict()).andExpect(content().string(containsString("another value")));
  }

  @Test
  void anAnswerThatIsNoneIsRefusedWithoutBeingRepeated() throws Exception {
    answers("2", "secretly").andExpect(status().isBadRequest()).andExpect(content().string(not(containsString("secretly"))));
  }
}
