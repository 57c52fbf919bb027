import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.common.TopicPartition;

/**
 * EndOffsets BOOTSTRAP TOPIC: for each line of the input, the end of the topic's partition 0 by one Admin that is kept, and the milliseconds
 * that took. Kafka Connect reads its own topics to their end in this way.
 */
public final class EndOffsets {
    public static void main(String[] arguments) throws Exception {
        TopicPartition partition = new TopicPartition(arguments[1], 0);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", arguments[0]))) {
            while (in.readLine() != null) {
                long began = System.nanoTime();
                long end = admin.listOffsets(Map.of(partition, OffsetSpec.latest())).all().get().get(partition).offset();
                System.out.println(end + " " + (System.nanoTime() - began) / 1_000_000);
            }
        }
    }
}
