import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * `BOOTSTRAP SOURCE TARGET ID TRANSACTIONS SIZE`: consume, transform, produce. So many transactions of SIZE records each, one begun as soon as the
 * commit of the one before is answered, the offsets committed with the copies. Any exception ends it. Prints one line of JSON: the rate without the
 * first tenth (the JVM gets warm), and what a commit took.
 */
public final class CopyLoop {
    public static void main(String[] args) throws Exception {
        String bootstrap = args[0], source = args[1], target = args[2], id = args[3];
        int transactions = Integer.parseInt(args[4]), size = Integer.parseInt(args[5]);
        Properties reading = new Properties();
        reading.put("bootstrap.servers", bootstrap);
        reading.put("group.id", id);
        reading.put("isolation.level", "read_committed");
        reading.put("enable.auto.commit", "false");
        reading.put("auto.offset.reset", "earliest");
        Properties writing = new Properties();
        writing.put("bootstrap.servers", bootstrap);
        writing.put("transactional.id", id);
        int warm = transactions / 10;
        double[] commits = new double[transactions - warm];
        long begun = 0;
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(reading, new ByteArrayDeserializer(), new ByteArrayDeserializer());
                KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(writing, new ByteArraySerializer(), new ByteArraySerializer())) {
            producer.initTransactions();
            consumer.subscribe(List.of(source));
            ArrayDeque<ConsumerRecord<byte[], byte[]>> waiting = new ArrayDeque<>();
            for (int number = 0; number < transactions; number++) {
                while (waiting.size() < size) {
                    consumer.poll(Duration.ofMillis(500)).forEach(waiting::add);
                }
                if (number == warm) {
                    begun = System.nanoTime();
                }
                producer.beginTransaction();
                Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                for (int i = 0; i < size; i++) {
                    ConsumerRecord<byte[], byte[]> record = waiting.poll();
                    producer.send(new ProducerRecord<>(target, record.partition(), record.key(), record.value()));
                    offsets.put(new TopicPartition(source, record.partition()), new OffsetAndMetadata(record.offset() + 1));
                }
                producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
                producer.flush();
                long before = System.nanoTime();
                producer.commitTransaction();
                if (number >= warm) {
                    commits[number - warm] = (System.nanoTime() - before) / 1e6;
                }
            }
            double seconds = (System.nanoTime() - begun) / 1e9;
            Arrays.sort(commits);
            System.out.printf("{\"transactions_per_s\": %.1f, \"commit_p50_ms\": %.2f, \"commit_p99_ms\": %.2f}%n", commits.length / seconds,
                commits[commits.length / 2], commits[(int) (commits.length * 0.99)]);
        }
    }
}
