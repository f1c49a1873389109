package org.streamldp.client;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UnsupportedEncodingException;
import java.net.HttpURLConnection;
import java.net.URL;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A gateway over HTTP: collections out, batches in. It works alike on the JVM and on Android.
 *
 * <pre>{@code Gateway.at("https://reports.example").token("...").build()}</pre>
 */
public final class Gateway implements Sender {
  private static final int MOST_ANSWER_BYTES = 1 << 26;
  private static final double FIRST_PAUSE_SECONDS = 1;
  private static final int TOO_MANY_REQUESTS = 429;

  private final String url;
  private final String token;
  private final int timeoutMs;
  private final long patienceMs;

  private Gateway(Builder builder) {
    url = builder.url.replaceAll("/+$", "");
    token = builder.token;
    timeoutMs = Math.toIntExact(builder.timeout.toMillis());
    patienceMs = builder.patience.toMillis();
  }

  /**
   * Begins a gateway.
   *
   * @param url its address, such as {@code https://reports.example}
   * @throws IllegalArgumentException it is none
   */
  public static Builder at(String url) {
    if (!url.matches("https?://[^/\\s]+.*")) {
      throw new IllegalArgumentException("not the address of a gateway, such as https://reports.example");
    }
    return new Builder(url);
  }

  /** Makes a gateway. */
  public static final class Builder {
    private final String url;
    private String token;
    private Duration timeout = Duration.ofSeconds(30);
    private Duration patience = Duration.ofSeconds(60);

    private Builder(String url) {
      this.url = url;
    }

    /** Sets the bearer token, if the gateway asks for one. */
    public Builder token(String bearer) {
      token = bearer;
      return this;
    }

    /** Sets how long one request may take; 30 s where it is left out. A gateway waits 10 s for its brokers. */
    public Builder timeout(Duration most) {
      timeout = most;
      return this;
    }

    /** Sets how long a request is made again that the gateway cannot take now; 60 s where it is left out. */
    public Builder patience(Duration most) {
      patience = most;
      return this;
    }

    /** Returns the gateway. */
    public Gateway build() {
      return new Gateway(this);
    }
  }

  private static String pathOf(String collection, String what) {
    try {
      return "/v1/collections/" + URLEncoder.encode(collection, "UTF-8").replace("+", "%20") + what;
    } catch (UnsupportedEncodingException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  /**
   * Reads a collection from the gateway. A collection decides how much noise there is: ship it with an application where
   * you can, and read it by {@link CollectionSpec#of}.
   *
   * @throws CollectionException it is of a kind that this client does not speak
   * @throws DeliveryException the gateway does not have it, or does not answer
   */
  public CollectionSpec collection(String name) {
    return CollectionSpec.of(ask(pathOf(name, "/document"), null), ask(pathOf(name, "/meaning"), null));
  }

  @Override
  public boolean check(CollectionSpec collection) {
    Object listed = field(ask("/v1/collections", null), "collections");
    for (Object each : listed instanceof List ? (List<?>) listed : new ArrayList<>()) {
      Map<?, ?> known = (Map<?, ?>) each;
      if (collection.name().equals(known.get("name"))) {
        CollectionSpec.require(
            collection.fingerprintHex().equals(known.get("fingerprint")),
            "collection \"" + collection.name() + "\" is another one at the gateway: nothing was sent");
        return true;
      }
    }
    throw new CollectionException("the gateway has no collection \"" + collection.name() + "\": nothing was sent");
  }

  @Override
  @SuppressWarnings("unchecked")
  public List<Map<String, ?>> rounds(CollectionSpec collection) {
    Object rounds = field(ask(pathOf(collection.name(), "/rounds"), null), "rounds");
    List<Map<String, ?>> found = new ArrayList<>();
    for (Object each : rounds instanceof List ? (List<?>) rounds : new ArrayList<>()) {
      if (each instanceof Map) {
        found.add((Map<String, ?>) each);
      }
    }
    return found;
  }

  @Override
  public void send(Batch batch) {
    Object reports = field(ask(pathOf(batch.collection(), "/batches"), batch.bytes()), "reports");
    if (!(reports instanceof Long)) {
      throw new DeliveryException("no_gateway", url + " does not answer as a gateway does");
    }
  }

  private static Object field(String answer, String name) {
    try {
      Object found = Json.parse(answer);
      return found instanceof Map ? ((Map<?, ?>) found).get(name) : null;
    } catch (IllegalArgumentException wrong) {
      return null;
    }
  }

  /** What a gateway has answered. */
  private static final class Answer {
    final int status;
    final String text;
    final double retryAfter;

    Answer(int status, String text, double retryAfter) {
      this.status = status;
      this.text = text;
      this.retryAfter = retryAfter;
    }
  }

  private String ask(String path, byte[] batch) {
    long end = System.nanoTime() + patienceMs * 1_000_000;
    for (double pause = FIRST_PAUSE_SECONDS; ; pause *= 2) {
      DeliveryException failed;
      double wait = pause;
      try {
        Answer answer = once(path, batch);
        if (answer.status == HttpURLConnection.HTTP_OK) {
          return answer.text;
        }
        failed = refused(answer, path);
        boolean passes =
            answer.status == HttpURLConnection.HTTP_CLIENT_TIMEOUT
                || answer.status == TOO_MANY_REQUESTS
                || answer.status >= HttpURLConnection.HTTP_INTERNAL_ERROR;
        if (!passes) {
          throw failed;
        }
        wait = answer.retryAfter > 0 ? answer.retryAfter : pause;
      } catch (IOException cause) {
        failed = new DeliveryException("unreachable", url + " does not answer");
        failed.initCause(cause);
      }
      if (System.nanoTime() + (long) (wait * 1e9) > end) {
        throw failed;
      }
      sleep(wait);
    }
  }

  private DeliveryException refused(Answer answer, String path) {
    Object reason = field(answer.text, "reason");
    Object detail = field(answer.text, "detail");
    return reason instanceof String
        ? new DeliveryException((String) reason, String.valueOf(detail))
        : new DeliveryException("no_gateway", url + path + " answers with status " + answer.status);
  }

  private static void sleep(double seconds) {
    try {
      Thread.sleep((long) (1000 * seconds));
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new DeliveryException("interrupted", "the thread was interrupted while it waited for the gateway");
    }
  }

  private Answer once(String path, byte[] batch) throws IOException {
    HttpURLConnection connection = (HttpURLConnection) new URL(url + path).openConnection();
    connection.setConnectTimeout(timeoutMs);
    connection.setReadTimeout(timeoutMs);
    connection.setInstanceFollowRedirects(false);
    connection.setUseCaches(false);
    // Not those of the platform, by which its release and the device could be told.
    connection.setRequestProperty("User-Agent", "stream-ldp");
    connection.setRequestProperty("Accept", "*/*");
    if (token != null) {
      connection.setRequestProperty("Authorization", "Bearer " + token);
    }
    if (batch != null) {
      connection.setRequestMethod("POST");
      connection.setDoOutput(true);
      connection.setRequestProperty("Content-Type", Batch.CONTENT_TYPE);
      connection.setFixedLengthStreamingMode(batch.length);
      try (OutputStream out = connection.getOutputStream()) {
        out.write(batch);
      }
    }
    int status = connection.getResponseCode();
    String retry = connection.getHeaderField("Retry-After");
    double retryAfter = retry != null && retry.matches("[0-9]{1,9}(\\.[0-9]{1,9})?") ? Double.parseDouble(retry) : 0;
    InputStream in = status < HttpURLConnection.HTTP_BAD_REQUEST ? connection.getInputStream() : connection.getErrorStream();
    return new Answer(status, in == null ? "" : read(in), retryAfter);
  }

  private static String read(InputStream stream) throws IOException {
    try (InputStream in = stream) {
      ByteArrayOutputStream found = new ByteArrayOutputStream();
      byte[] part = new byte[8192];
      for (int count = in.read(part); count >= 0; count = in.read(part)) {
        found.write(part, 0, count);
        if (found.size() > MOST_ANSWER_BYTES) {
          throw new IOException("the answer is too long");
        }
      }
      return new String(found.toByteArray(), StandardCharsets.UTF_8);
    }
  }

  /** Names its address, and no token. */
  @Override
  public String toString() {
    return "the gateway at " + url;
  }
}
