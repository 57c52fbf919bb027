import java.time.Duration;
import java.util.Arrays;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Produced;

/**
 * `BOOTSTRAP INPUT OUTPUT APPLICATION FOLDER [name=value ...]`: Kafka Streams' word count, exactly once. Every change of a count is one record
 * of the output (no cache), so that the counts of a word must be 1, 2, 3, ... Runs until it is stopped; says "running" when it is.
 */
public final class WordCount {
    public static void main(String[] args) throws Exception {
        Properties properties = Records.settings(args[0], args, 5);
        properties.put(StreamsConfig.APPLICATION_ID_CONFIG, args[3]);
        properties.put(StreamsConfig.STATE_DIR_CONFIG, args[4]);
        properties.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        properties.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
        properties.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 50);
        properties.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, 1);
        properties.put("auto.offset.reset", "earliest");
        properties.putIfAbsent("session.timeout.ms", "6000");
        properties.putIfAbsent("heartbeat.interval.ms", "500");

        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(args[1], Consumed.with(Serdes.String(), Serdes.String()))
            .flatMapValues(line -> Arrays.asList(line.split(" ")))
            .groupBy((key, word) -> word, Grouped.with(Serdes.String(), Serdes.String()))
            .count()
            .toStream()
            .to(args[2], Produced.with(Serdes.String(), Serdes.Long()));

        KafkaStreams streams = new KafkaStreams(builder.build(), properties);
        CountDownLatch over = new CountDownLatch(1);
        streams.setStateListener((now, before) -> {
            if (now == KafkaStreams.State.RUNNING) {
                System.out.println("running");
                System.out.flush();
            } else if (now == KafkaStreams.State.ERROR) {
                over.countDown();
            }
        });
        streams.setUncaughtExceptionHandler(e -> {
            e.printStackTrace();
            return org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            streams.close(Duration.ofSeconds(10));
            over.countDown();
        }));
        streams.start();
        over.await();
    }
}
