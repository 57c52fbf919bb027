package barnabas;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import kafka.network.SocketServer;
import kafka.server.KafkaBroker;
import kafka.server.KafkaConfig;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.requests.MetadataResponse;
import org.apache.kafka.common.requests.MetadataResponse.PartitionMetadata;
import org.apache.kafka.coordinator.group.GroupCoordinator;
import org.apache.kafka.metadata.BrokerState;
import org.apache.kafka.metadata.LeaderAndIsr;
import org.apache.kafka.metadata.MetadataCache;
import org.mockito.Mockito;
import org.opentest4j.TestAbortedException;

/**
 * What `ClusterInstance.brokers()` gives: objects that look like Kafka's brokers and answer what can be asked of a node over its port (its configuration
 * as it was given, its metadata, whether it runs, stop and start). Anything else is the inside of a Kafka broker, and ends the test as skipped.
 */
final class BrokerView implements InvocationHandler {
    private final BarnabasCluster cluster;
    private final int id;
    private final int port;

    private BrokerView(BarnabasCluster cluster, int id, int port) {
        this.cluster = cluster;
        this.id = id;
        this.port = port;
    }

    static Map<Integer, KafkaBroker> of(BarnabasCluster cluster, Map<Integer, Integer> ports) {
        Map<Integer, KafkaBroker> found = new LinkedHashMap<>();
        ports.forEach((id, port) -> found.put(id, view(KafkaBroker.class, new BrokerView(cluster, id, port))));
        return found;
    }

    private static <T> T view(Class<T> kind, InvocationHandler handler) {
        return kind.cast(Proxy.newProxyInstance(BrokerView.class.getClassLoader(), new Class<?>[] {kind}, handler));
    }

    @Override
    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
        switch (method.getName()) {
            case "config":
                return KafkaConfig.fromProps(properties());
            case "clusterId":
                return cluster.clusterId();
            case "boundPort":
                return port;
            case "isShutdown":
                return !cluster.isAlive(id);
            case "brokerState":
                return cluster.isAlive(id) ? BrokerState.RUNNING : BrokerState.NOT_RUNNING;
            case "shutdown":
                cluster.shutdownBroker(id);
                return null;
            case "awaitShutdown":
                return null;
            case "startup":
                cluster.startBroker(id);
                return null;
            case "groupCoordinator": // Kafka's helper makes __consumer_offsets by hand, with the settings that the coordinator names
                return view(GroupCoordinator.class, (coordinator, called, values) -> {
                    if (called.getName().equals("groupMetadataTopicConfigs")) return offsetsTopicSettings();
                    throw new TestAbortedException("uses the inside of a broker: groupCoordinator." + called.getName());
                });
            case "socketServer": // a class, and asked for its port only
                return Mockito.mock(SocketServer.class, call -> {
                    if (call.getMethod().getName().equals("boundPort")) return port;
                    throw new TestAbortedException("uses the inside of a broker: socketServer." + call.getMethod().getName());
                });
            case "metadataCache":
                return view(MetadataCache.class, this::cached);
            case "hashCode":
                return id;
            case "equals":
                return proxy == arguments[0];
            case "toString":
                return "broker " + id;
            default:
                throw new TestAbortedException("uses the inside of a broker: " + method.getName());
        }
    }

    private static Properties offsetsTopicSettings() {
        Properties found = new Properties();
        found.put("cleanup.policy", "compact");
        found.put("compression.type", "producer");
        found.put("segment.bytes", "104857600");
        return found;
    }

    /** As the node was given it, and what was changed since. */
    private Properties properties() throws Exception {
        Properties found = new Properties();
        found.putAll(cluster.node(id).settings());
        if (!cluster.isAlive(id)) return found;
        ConfigResource resource = new ConfigResource(ConfigResource.Type.BROKER, String.valueOf(id));
        try (Admin admin = cluster.admin()) {
            for (ConfigEntry entry : admin.describeConfigs(List.of(resource)).all().get().get(resource).entries()) {
                boolean changed = entry.source() == ConfigEntry.ConfigSource.DYNAMIC_BROKER_CONFIG
                    || entry.source() == ConfigEntry.ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG;
                if (changed && entry.value() != null) found.put(entry.name(), entry.value());
            }
        }
        return found;
    }

    private Object cached(Object proxy, Method method, Object[] arguments) {
        switch (method.getName()) {
            case "numPartitions": {
                int count = cluster.partitionCount(port, (String) arguments[0]);
                return count < 0 ? Optional.empty() : Optional.of(count);
            }
            case "contains": {
                boolean whole = arguments[0] instanceof String;
                String topic = whole ? (String) arguments[0] : ((TopicPartition) arguments[0]).topic();
                int count = cluster.partitionCount(port, topic);
                return whole ? count >= 0 : count > ((TopicPartition) arguments[0]).partition();
            }
            case "getLeaderAndIsr":
                return leaderAndIsr((String) arguments[0], (int) arguments[1]);
            case "hasAliveBroker":
                return cluster.metadata(port, null).brokersById().containsKey(arguments[0]);
            case "getAliveBrokerNodes":
                return List.copyOf(cluster.metadata(port, null).brokers());
            case "topicNamesToIds":
            case "getTopicId": {
                Map<String, org.apache.kafka.common.Uuid> ids = new HashMap<>();
                MetadataResponse answer = cluster.metadata(port, BarnabasCluster.EVERY_TOPIC);
                answer.topicMetadata().forEach(topic -> ids.put(topic.topic(), topic.topicId()));
                return arguments == null ? ids : ids.getOrDefault((String) arguments[0], org.apache.kafka.common.Uuid.ZERO_UUID);
            }
            default:
                throw new TestAbortedException("uses the metadata cache of a broker: " + method.getName());
        }
    }

    private Optional<LeaderAndIsr> leaderAndIsr(String topic, int index) {
        MetadataResponse answer = cluster.metadata(port, topic);
        Optional<PartitionMetadata> found = answer.topicMetadata().stream().filter(each -> each.topic().equals(topic))
            .flatMap(each -> each.partitionMetadata().stream()).filter(each -> each.partition() == index).findFirst();
        return found.map(each -> new LeaderAndIsr(each.leaderId.orElse(-1), each.leaderEpoch.orElse(-1), each.inSyncReplicaIds,
            org.apache.kafka.metadata.LeaderRecoveryState.RECOVERED, 0));
    }
}
