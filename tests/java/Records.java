import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The Java client as a pipe: `produce BOOTSTRAP TOPIC [name=value ...]` writes the records that stand on standard input, one JSON object a
 * line; `consume BOOTSTRAP TOPIC [name=value ...]` prints every record of the topic that is there now in the same form.
 */
public final class Records {
    private static final ObjectMapper JSON = new ObjectMapper();

    static Properties settings(String bootstrap, String[] args, int from) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        for (int i = from; i < args.length; i++) {
            int at = args[i].indexOf('=');
            properties.put(args[i].substring(0, at), args[i].substring(at + 1));
        }
        return properties;
    }

    private static byte[] bytes(JsonNode node) {
        return node == null || node.isNull() ? null : Base64.getDecoder().decode(node.asText());
    }

    private static String text(byte[] data) {
        return data == null ? null : Base64.getEncoder().encodeToString(data);
    }

    private static void produce(Properties properties, String topic) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (String line = lines.readLine(); line != null && !line.isEmpty(); line = lines.readLine()) {
                JsonNode node = JSON.readTree(line);
                Integer partition = node.hasNonNull("partition") ? node.get("partition").asInt() : null;
                Long timestamp = node.hasNonNull("timestamp") ? node.get("timestamp").asLong() : null;
                ProducerRecord<byte[], byte[]> record =
                    new ProducerRecord<>(topic, partition, timestamp, bytes(node.get("key")), bytes(node.get("value")));
                for (JsonNode header : node.path("headers")) {
                    record.headers().add(header.get(0).asText(), bytes(header.get(1)));
                }
                sent.add(producer.send(record));
            }
            producer.flush();
        }
        for (Future<RecordMetadata> future : sent) {
            System.out.println(future.get().partition() + " " + future.get().offset());
        }
    }

    static ObjectNode json(ConsumerRecord<byte[], byte[]> record) {
        ObjectNode node = JSON.createObjectNode();
        node.put("partition", record.partition());
        node.put("offset", record.offset());
        node.put("timestamp", record.timestamp());
        node.put("key", text(record.key()));
        node.put("value", text(record.value()));
        ArrayNode headers = node.putArray("headers");
        for (Header header : record.headers()) {
            headers.addArray().add(header.key()).add(text(header.value()));
        }
        return node;
    }

    private static void consume(Properties properties, String topic) throws Exception {
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> partitions =
                consumer.partitionsFor(topic).stream().map(p -> new TopicPartition(topic, p.partition())).collect(Collectors.toList());
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            var ends = consumer.endOffsets(partitions);
            long deadline = System.currentTimeMillis() + 30_000;
            while (partitions.stream().anyMatch(p -> consumer.position(p) < ends.get(p))) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
                    System.out.println(JSON.writeValueAsString(json(record)));
                }
                if (System.currentTimeMillis() > deadline) {
                    throw new IllegalStateException("not at the end after 30 s");
                }
            }
        }
    }

    public static void main(String[] args) throws Exception {
        Properties properties = settings(args[1], args, 3);
        if (args[0].equals("produce")) {
            produce(properties, args[2]);
        } else {
            consume(properties, args[2]);
        }
    }
}
