package org.streamldp.client;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Kafka itself: for backends. It needs {@code org.apache.kafka:kafka-clients}, which is optional.
 *
 * <p>Nothing that the brokers store shows whose batches they are. So the producer is not idempotent, and what it writes
 * again after a failure may be stored twice: workers count a batch id once.
 *
 * <pre>{@code KafkaSender.connect(Map.of("bootstrap.servers", "kafka:9092"))}</pre>
 */
public final class KafkaSender implements Sender, AutoCloseable {
  /** The prefix of all topics, unless the deployment has another. */
  public static final String PREFIX = "stream-ldp";

  private static final Duration POLL = Duration.ofMillis(200);
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private final Map<String, Object> settings;
  private final String prefix;
  private final KafkaProducer<byte[], byte[]> producer;

  private KafkaSender(Map<String, ?> given, String prefix) {
    for (String each : new String[] {"transactional.id", "interceptor.classes"}) {
      if (given.containsKey(each)) {
        throw new IllegalArgumentException(each + ": nothing that shows whose a batch is may be stored with it");
      }
    }
    settings = new HashMap<>(given);
    this.prefix = prefix;
    Map<String, Object> own = new HashMap<>(given);
    own.put("acks", "all");
    own.put("enable.idempotence", false);
    producer = new KafkaProducer<>(own, new ByteArraySerializer(), new ByteArraySerializer());
  }

  /**
   * Connects, with settings of Kafka's clients, and the usual prefix of topics.
   *
   * @throws IllegalArgumentException a setting would let brokers store whose a batch is
   */
  public static KafkaSender connect(Map<String, ?> settings) {
    return connect(settings, PREFIX);
  }

  /** Connects to topics with another prefix. */
  public static KafkaSender connect(Map<String, ?> settings, String prefix) {
    return new KafkaSender(settings, prefix);
  }

  @Override
  public boolean check(CollectionSpec collection) {
    String registered = null;
    for (ConsumerRecord<byte[], byte[]> each : all(prefix + ".collections", 0)) {
      boolean isOurs = each.key() != null && collection.name().equals(new String(each.key(), StandardCharsets.UTF_8));
      if (isOurs) {
        registered = each.value() == null ? null : fingerprintIn(each.value());
      }
    }
    CollectionSpec.require(
        registered == null || registered.equals(collection.fingerprintHex()),
        "collection \"" + collection.name() + "\" is registered as another one: nothing was sent");
    return registered != null;
  }

  /** Returns the fingerprint of a registration; null of a record that says that the name is registered no more. */
  private static String fingerprintIn(byte[] value) {
    try {
      Map<?, ?> registration = (Map<?, ?>) Json.parse(new String(value, StandardCharsets.UTF_8));
      return Boolean.TRUE.equals(registration.get("removed")) ? null : String.valueOf(registration.get("fingerprint"));
    } catch (IllegalArgumentException | ClassCastException wrong) {
      throw new DeliveryException("no_registry", "a record of the topic of collections is none that this client reads");
    }
  }

  @Override
  @SuppressWarnings("unchecked")
  public List<Map<String, ?>> rounds(CollectionSpec collection) {
    List<Map<String, ?>> found = new ArrayList<>();
    long sinceMs = System.currentTimeMillis() - 2 * collection.paneMs();
    for (ConsumerRecord<byte[], byte[]> each : all(prefix + "." + collection.name() + ".rounds", sinceMs)) {
      try {
        found.add((Map<String, ?>) Json.parse(new String(each.value(), StandardCharsets.UTF_8)));
      } catch (IllegalArgumentException | ClassCastException | NullPointerException unreadable) {
        // It is no round, and gets no report.
      }
    }
    return found;
  }

  /** Reads the one partition of a topic, from a time to its present end. */
  private List<ConsumerRecord<byte[], byte[]>> all(String topic, long sinceMs) {
    Map<String, Object> own = new HashMap<>(settings);
    own.put("enable.auto.commit", false);
    own.put("isolation.level", "read_committed");
    List<ConsumerRecord<byte[], byte[]>> found = new ArrayList<>();
    TopicPartition partition = new TopicPartition(topic, 0);
    try (KafkaConsumer<byte[], byte[]> consumer =
        new KafkaConsumer<>(own, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
      consumer.assign(Collections.singletonList(partition));
      long end = consumer.endOffsets(Collections.singletonList(partition), PATIENCE).get(partition);
      OffsetAndTimestamp since =
          consumer.offsetsForTimes(Collections.singletonMap(partition, sinceMs), PATIENCE).get(partition);
      if (since == null) {
        return found;
      }
      consumer.seek(partition, since.offset());
      long giveUp = System.nanoTime() + PATIENCE.toNanos();
      while (consumer.position(partition, PATIENCE) < end) {
        for (ConsumerRecord<byte[], byte[]> each : consumer.poll(POLL)) {
          found.add(each);
        }
        if (System.nanoTime() > giveUp) {
          throw new DeliveryException("unreachable", "topic " + topic + " cannot be read to its end");
        }
      }
      return found;
    } catch (KafkaException cause) {
      throw unreachable(topic, cause);
    }
  }

  private static DeliveryException unreachable(String topic, Throwable cause) {
    DeliveryException failed = new DeliveryException("unreachable", "topic " + topic + ": " + cause.getMessage());
    failed.initCause(cause);
    return failed;
  }

  @Override
  public void send(Batch batch) {
    String topic = prefix + "." + batch.collection() + ".reports";
    ProducerRecord<byte[], byte[]> record =
        new ProducerRecord<>(topic, null, batch.timeMs(), batch.id(), batch.bytes());
    record.headers().add("content-type", Batch.CONTENT_TYPE.getBytes(StandardCharsets.US_ASCII));
    try {
      producer.send(record).get();
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw unreachable(topic, interrupted);
    } catch (ExecutionException failed) {
      throw unreachable(topic, failed.getCause());
    } catch (KafkaException failed) {
      throw unreachable(topic, failed);
    }
  }

  /** Disconnects. */
  @Override
  public void close() {
    producer.close();
  }

  /** Names its topics. */
  @Override
  public String toString() {
    return "Kafka, topics of " + prefix;
  }
}
