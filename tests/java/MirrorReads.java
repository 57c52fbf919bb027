import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.mirror.MirrorClient;
import org.apache.kafka.connect.mirror.RemoteClusterUtils;

/** What MirrorMaker 2's own client finds in a cluster: MirrorReads BOOTSTRAP UPSTREAM GROUP [POLICY]. A line for each answer. */
public class MirrorReads {
    public static void main(String[] arguments) throws Exception {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", arguments[0]);
        if (arguments.length > 3) {
            settings.put("replication.policy.class", arguments[3]);
            settings.put("source.cluster.alias", arguments[1]);
        }
        Duration timeout = Duration.ofSeconds(20);
        try (MirrorClient client = new MirrorClient(settings)) {
            System.out.println("remote topics: " + new TreeSet<>(client.remoteTopics()));
            System.out.println("remote topics of " + arguments[1] + ": " + new TreeSet<>(client.remoteTopics(arguments[1])));
            System.out.println("heartbeat topics: " + new TreeSet<>(client.heartbeatTopics()));
            System.out.println("checkpoint topics: " + new TreeSet<>(client.checkpointTopics()));
            System.out.println("upstream clusters: " + new TreeSet<>(client.upstreamClusters()));
            System.out.println("hops: " + client.replicationHops(arguments[1]));
            System.out.println("hops of nobody: " + client.replicationHops("nobody"));
            System.out.println("offsets: " + told(client.remoteConsumerOffsets(arguments[2], arguments[1], timeout)));
        }
        System.out.println("translated: " + told(RemoteClusterUtils.translateOffsets(settings, arguments[1], arguments[2], timeout)));
        System.out.println("utils hops: " + RemoteClusterUtils.replicationHops(settings, arguments[1]));
    }

    private static Map<String, Long> told(Map<TopicPartition, OffsetAndMetadata> offsets) {
        Map<String, Long> found = new TreeMap<>();
        offsets.forEach((place, offset) -> found.put(place.toString(), offset.offset()));
        return found;
    }
}
