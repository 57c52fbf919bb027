import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * `BOOTSTRAP TOPIC ID GROUP ROUNDS`: transactions of six records in three partitions, with an offset each, every third aborted; then a second
 * producer takes the id, and what the first one gets for going on is printed. Last, what a read_committed consumer finds.
 */
public final class Transactions {
    private static KafkaProducer<String, String> producer(String bootstrap, String id) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.put("transactional.id", id);
        KafkaProducer<String, String> made = new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer());
        made.initTransactions();
        return made;
    }

    private static String refusal(KafkaProducer<String, String> producer, String topic) throws InterruptedException {
        try {
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(topic, 0, null, "zombie")).get();
            producer.commitTransaction();
            return "nothing";
        } catch (ExecutionException e) {
            return e.getCause().getClass().getSimpleName();
        } catch (KafkaException e) {
            return e.getClass().getSimpleName();
        }
    }

    private static void print(String bootstrap, String topic, String level) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.put("isolation.level", level);
        properties.put("fetch.max.wait.ms", "100");
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(properties, new StringDeserializer(), new StringDeserializer())) {
            List<TopicPartition> partitions = List.of(new TopicPartition(topic, 0), new TopicPartition(topic, 1), new TopicPartition(topic, 2));
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            var ends = consumer.endOffsets(partitions);
            while (partitions.stream().anyMatch(p -> consumer.position(p) < ends.get(p))) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(100))) {
                    System.out.println(level + " " + record.partition() + " " + record.value());
                }
            }
        }
    }

    @SuppressWarnings("removal") // metadata of a group by its name alone
    public static void main(String[] args) throws Exception {
        String bootstrap = args[0];
        String topic = args[1];
        KafkaProducer<String, String> first = producer(bootstrap, args[2]);
        int rounds = Integer.parseInt(args[4]);
        for (int round = 0; round < rounds; round++) {
            first.beginTransaction();
            for (int i = 0; i < 6; i++) {
                first.send(new ProducerRecord<>(topic, i % 3, null, round + "." + i));
            }
            first.sendOffsetsToTransaction(
                Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(round + 1, "round " + round)), new ConsumerGroupMetadata(args[3]));
            if (round % 3 == 2) {
                first.abortTransaction();
            } else {
                first.commitTransaction();
            }
        }
        KafkaProducer<String, String> second = producer(bootstrap, args[2]);
        System.out.println("zombie " + refusal(first, topic));
        first.close(Duration.ZERO);
        second.beginTransaction();
        second.send(new ProducerRecord<>(topic, 0, null, "last"));
        second.commitTransaction();
        second.close();
        print(bootstrap, topic, "read_committed");
        print(bootstrap, topic, "read_uncommitted");
    }
}
