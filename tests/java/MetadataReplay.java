import java.io.File;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.TopicImage;
import org.apache.kafka.metadata.BrokerRegistration;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.metadata.PartitionRegistration;

/** Replays files of a metadata log (a snapshot, segments) by Kafka's own classes and prints the state, one thing a line, sorted. */
public class MetadataReplay {
    public static void main(String[] files) throws Exception {
        MetadataImage image = MetadataImage.EMPTY;
        for (String file : files) {
            try (FileRecords records = FileRecords.open(new File(file), false)) {
                for (RecordBatch batch : records.batches()) {
                    batch.ensureValid();
                    if (batch.isControlBatch())
                        continue;
                    MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
                    for (Record record : batch)
                        delta.replay(MetadataRecordSerde.INSTANCE.read(new ByteBufferAccessor(record.value()), record.valueSize()).message());
                    image = delta.apply(new MetadataProvenance(batch.lastOffset(), batch.partitionLeaderEpoch(), batch.maxTimestamp(), true));
                }
            }
        }
        Set<String> lines = new TreeSet<>();
        for (BrokerRegistration broker : image.cluster().brokers().values()) {
            String features = broker.supportedFeatures().entrySet().stream().map(f -> f.getKey() + "=" + f.getValue().min() + "-" + f.getValue().max()).sorted().collect(Collectors.joining(","));
            String listeners = broker.listeners().values().stream().map(e -> e.listener() + "/" + e.securityProtocol().name + "/" + e.host() + "/" + e.port()).sorted().collect(Collectors.joining(","));
            lines.add(String.join(" ", "broker", "" + broker.id(), "" + broker.epoch(), "" + broker.incarnationId(), listeners, broker.rack().orElse("-"),
                "" + broker.fenced(), "" + broker.inControlledShutdown(), ids(broker.directories()), features));
        }
        for (TopicImage topic : image.topics().topicsById().values()) {
            lines.add("topic " + topic.name() + " " + topic.id());
            for (Map.Entry<Integer, PartitionRegistration> each : topic.partitions().entrySet()) {
                PartitionRegistration p = each.getValue();
                lines.add(String.join(" ", "partition", topic.name(), "" + each.getKey(), "" + p.leader, "" + p.leaderEpoch, "" + p.partitionEpoch, numbers(p.replicas), numbers(p.isr),
                    ids(Arrays.asList(p.directories)), numbers(p.addingReplicas), numbers(p.removingReplicas), numbers(p.elr), numbers(p.lastKnownElr)));
            }
        }
        image.configs().resourceData().forEach((resource, configs) ->
            configs.data().forEach((name, value) -> lines.add("config " + resource.type().id() + " '" + resource.name() + "' " + name + "=" + value)));
        image.features().finalizedVersions().forEach((name, level) -> lines.add("feature " + name + " " + level));
        image.features().metadataVersion().ifPresent(version -> lines.add("feature metadata.version " + version.featureLevel()));
        lines.add("next producer id " + Math.max(0, image.producerIds().nextProducerId()));
        lines.forEach(System.out::println);
    }

    private static String numbers(int[] values) {
        return Arrays.toString(values).replace(" ", "");
    }

    private static String ids(List<Uuid> values) {
        return values.stream().map(Uuid::toString).collect(Collectors.joining(",", "[", "]"));
    }
}
