import java.io.FileInputStream;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * One action of the Java client on a listener with security: `ACTION FILE TOPIC NAME VALUE`. FILE is a client.properties; NAME is the
 * group or the transactional id. Prints what was read or done, or throws what the client throws.
 */
public final class Logins {
    private static KafkaProducer<String, String> producer(Properties settings) {
        return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }

    private static void send(KafkaProducer<String, String> producer, String topic, String value) throws Exception {
        try {
            producer.send(new ProducerRecord<>(topic, value)).get(30, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            throw (Exception) e.getCause();
        }
    }

    private static String consume(Properties settings, String topic, String group) {
        settings.put("group.id", group);
        settings.put("auto.offset.reset", "earliest");
        settings.put("isolation.level", "read_committed");
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(topic));
            long deadline = System.currentTimeMillis() + 30_000;
            while (System.currentTimeMillis() < deadline) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                    consumer.commitSync();
                    return record.value();
                }
            }
        }
        throw new IllegalStateException("nothing read in 30 s");
    }

    private static String admin(Properties settings, String topic) throws Exception {
        try (Admin admin = Admin.create(settings)) {
            admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get(30, TimeUnit.SECONDS);
            if (!admin.listTopics().names().get(30, TimeUnit.SECONDS).contains(topic)) {
                throw new IllegalStateException(topic + " is not listed");
            }
            admin.deleteTopics(List.of(topic)).all().get(30, TimeUnit.SECONDS);
            return topic;
        } catch (ExecutionException e) {
            throw (Exception) e.getCause();
        }
    }

    public static void main(String[] args) throws Exception {
        Properties settings = new Properties();
        try (FileInputStream file = new FileInputStream(args[1])) {
            settings.load(file);
        }
        String topic = args[2];
        String name = args[3];
        String value = args[4];
        switch (args[0]) {
            case "produce" -> {
                try (KafkaProducer<String, String> producer = producer(settings)) {
                    send(producer, topic, value);
                }
                System.out.println(value);
            }
            case "transaction" -> {
                settings.put("transactional.id", name);
                try (KafkaProducer<String, String> producer = producer(settings)) {
                    producer.initTransactions();
                    producer.beginTransaction();
                    send(producer, topic, value);
                    producer.commitTransaction();
                }
                System.out.println(value);
            }
            case "consume" -> System.out.println(consume(settings, topic, name));
            case "admin" -> System.out.println(admin(settings, topic));
            default -> throw new IllegalArgumentException(args[0]);
        }
    }
}
