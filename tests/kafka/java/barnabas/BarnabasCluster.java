package barnabas;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import kafka.server.ControllerServer;
import kafka.server.KafkaBroker;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.clients.admin.UpdateFeaturesOptions;
import org.apache.kafka.clients.consumer.GroupProtocol;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.message.SaslAuthenticateRequestData;
import org.apache.kafka.common.message.SaslHandshakeRequestData;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.DescribeAclsRequest;
import org.apache.kafka.common.requests.DescribeAclsResponse;
import org.apache.kafka.common.requests.MetadataRequest;
import org.apache.kafka.common.requests.MetadataResponse;
import org.apache.kafka.common.requests.SaslAuthenticateRequest;
import org.apache.kafka.common.requests.SaslAuthenticateResponse;
import org.apache.kafka.common.requests.SaslHandshakeRequest;
import org.apache.kafka.common.requests.SaslHandshakeResponse;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.test.JaasUtils;
import org.apache.kafka.common.test.ClusterInstance;
import org.apache.kafka.test.TestUtils;
import org.apache.kafka.common.test.api.ClusterConfig;
import org.apache.kafka.common.test.api.Type;
import org.apache.kafka.server.IntegrationTestUtils;
import org.apache.kafka.server.authorizer.Authorizer;
import org.apache.kafka.server.common.Feature;
import org.apache.kafka.server.fault.FaultHandlerException;
import org.opentest4j.TestAbortedException;

/**
 * The cluster of one test: Barnabas nodes as child processes, numbered and wired as Kafka's own test kit does it (brokers from 0; controllers of their
 * own from 3000). What a test may ask through the protocol is answered that way; a question about the inside of a Kafka broker ends the test as skipped.
 */
public final class BarnabasCluster implements ClusterInstance {
    static final String EVERY_TOPIC = "";
    private static final int FIRST_CONTROLLER = 3000;
    private static final long CLOSING_NANOS = 5_000_000_000L;
    private static final List<String> CLIENT_THREADS =
        List.of("consumer_background_thread", "kafka-admin-client-thread", "kafka-producer-network-thread", "kafka-coordinator-heartbeat-thread");

    private final ClusterConfig config;
    private final boolean combined;
    private final Map<Integer, NodeProcess> nodes = new TreeMap<>();
    private final Map<Integer, Integer> brokerPorts = new TreeMap<>();
    private final Map<Integer, Integer> controllerPorts = new TreeMap<>();
    /** Kafka's test kit has them in a JAAS file of its JVM. */
    private static final String USERS = "org.apache.kafka.common.security.plain.PlainLoginModule required"
        + " username=\"" + JaasUtils.KAFKA_PLAIN_ADMIN + "\" password=\"" + JaasUtils.KAFKA_PLAIN_ADMIN_PASSWORD + "\""
        + " user_" + JaasUtils.KAFKA_PLAIN_ADMIN + "=\"" + JaasUtils.KAFKA_PLAIN_ADMIN_PASSWORD + "\""
        + " user_" + JaasUtils.KAFKA_PLAIN_USER1 + "=\"" + JaasUtils.KAFKA_PLAIN_USER1_PASSWORD + "\";";
    private final Set<Integer> down = new TreeSet<>();
    private Path folder;
    private boolean started;
    private boolean stopped;

    public BarnabasCluster(ClusterConfig config, boolean combined) {
        this.config = config;
        this.combined = combined;
    }

    // --- life ---------------------------------------------------------------------------------------------------------

    public void format() {
        if (folder != null) return;
        try {
            folder = Files.createTempDirectory(Path.of(System.getProperty("barnabas.data")), "cluster");
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        for (int id = 0; id < config.numBrokers(); id++) brokerPorts.put(id, NodeProcess.freePort());
        for (int n = 0; n < config.numControllers(); n++) {
            controllerPorts.put(combined ? n : FIRST_CONTROLLER + n, NodeProcess.freePort());
        }
        Set<Integer> ids = new TreeSet<>(brokerPorts.keySet());
        ids.addAll(controllerPorts.keySet());
        for (int id : ids) {
            nodes.put(id, new NodeProcess(id, folder.resolve("node-" + id), settings(id, true)));
        }
    }

    private Map<String, String> settings(int id, boolean withBroker) {
        String client = config.brokerListenerName().value();
        String controller = config.controllerListenerName().value();
        boolean broker = withBroker && brokerPorts.containsKey(id);
        boolean votes = controllerPorts.containsKey(id);
        List<String> listeners = new ArrayList<>();
        if (broker) listeners.add(client + "://localhost:" + brokerPorts.get(id));
        if (votes) listeners.add(controller + "://localhost:" + controllerPorts.get(id));
        Map<String, String> found = new LinkedHashMap<>();
        found.put("node.id", String.valueOf(id));
        found.put("process.roles", broker && votes ? "broker,controller" : broker ? "broker" : "controller");
        found.put("log.dirs", folder.resolve("node-" + id).resolve("data").toString());
        found.put("listeners", String.join(",", listeners));
        found.put("listener.security.protocol.map",
            client + ":" + config.brokerSecurityProtocol() + "," + controller + ":" + config.controllerSecurityProtocol());
        found.put("inter.broker.listener.name", client);
        found.put("controller.listener.names", controller);
        found.put("controller.quorum.voters", controllerPorts.entrySet().stream()
            .map(entry -> entry.getKey() + "@localhost:" + entry.getValue()).collect(Collectors.joining(",")));
        found.put("log.cleaner.dedupe.buffer.size", "2097152"); // as Kafka's test kit
        if (config.brokerSecurityProtocol() == SecurityProtocol.SASL_PLAINTEXT) {
            found.put("sasl.enabled.mechanisms", "PLAIN");
            found.put("sasl.mechanism.inter.broker.protocol", "PLAIN");
            found.put("listener.name." + client.toLowerCase() + ".plain.sasl.jaas.config", USERS);
        }
        if (config.controllerSecurityProtocol() == SecurityProtocol.SASL_PLAINTEXT) {
            found.put("sasl.mechanism.controller.protocol", "PLAIN");
            found.put("listener.name." + controller.toLowerCase() + ".sasl.enabled.mechanisms", "PLAIN");
            found.put("listener.name." + controller.toLowerCase() + ".plain.sasl.jaas.config", USERS);
        }
        found.putAll(config.serverProperties());
        found.putAll(config.perServerOverrideProperties().getOrDefault(id, Map.of()));
        return found;
    }

    @Override
    public void start() {
        if (started) return;
        format();
        started = true;
        try {
            for (NodeProcess node : nodes.values()) node.launch();
            for (NodeProcess node : nodes.values()) node.awaitReady();
            setFeatures();
        } catch (Exception error) {
            nodes.values().forEach(NodeProcess::kill);
            throw new RuntimeException("Barnabas did not start: " + error.getMessage(), error);
        }
    }

    /** Kafka formats a cluster with its feature levels; here they are changed before the test begins. */
    private void setFeatures() throws Exception {
        Map<String, FeatureUpdate> updates = new HashMap<>();
        for (Map.Entry<Feature, Short> wanted : config.features().entrySet()) {
            Feature feature = wanted.getKey();
            short level = wanted.getValue();
            short usual = feature.defaultLevel(config.metadataVersion());
            if (level != usual) {
                updates.put(feature.featureName(), new FeatureUpdate(level,
                    level < usual ? FeatureUpdate.UpgradeType.SAFE_DOWNGRADE : FeatureUpdate.UpgradeType.UPGRADE));
            }
        }
        if (updates.isEmpty()) return;
        try (Admin admin = admin()) {
            admin.updateFeatures(updates, new UpdateFeaturesOptions()).all().get();
        }
    }

    @Override
    public boolean started() {
        return started;
    }

    @Override
    public void stop() {
        if (stopped) return;
        stopped = true;
        awaitClosingClients();
        nodes.values().forEach(NodeProcess::kill); // a test's data is thrown away: no need for an orderly end
        if (folder == null || Boolean.getBoolean("barnabas.keep")) return;
        try (Stream<Path> files = Files.walk(folder)) {
            files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
        } catch (IOException | UncheckedIOException leftBehind) {
            // a node that is just ending may still write: the runner removes the rest
        }
    }

    /**
     * A client that is closing in the background (its close() was interrupted, or had no time) still waits for answers. Kafka's brokers take seconds to
     * stop, in which it gets them; nodes killed at once would leave its thread, which Kafka's extension reports as a leak.
     */
    private static void awaitClosingClients() {
        long deadline = System.nanoTime() + CLOSING_NANOS;
        try {
            while (System.nanoTime() < deadline && Thread.getAllStackTraces().keySet().stream().anyMatch(BarnabasCluster::ofClient)) Thread.sleep(20);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private static boolean ofClient(Thread thread) {
        return CLIENT_THREADS.stream().anyMatch(thread.getName()::startsWith);
    }

    @Override
    public boolean stopped() {
        return stopped;
    }

    @Override
    public void shutdownBroker(int brokerId) {
        broker(brokerId).stop();
        down.add(brokerId);
        if (!controllerPorts.containsKey(brokerId)) return;
        restart(new NodeProcess(brokerId, nodes.get(brokerId).folder, settings(brokerId, false)));
        awaitFenced(brokerId);
    }

    /** A broker of Kafka's that was stopped is fenced: its controller did not stop with it. Here it may be the one that was restarted. */
    private void awaitFenced(int brokerId) {
        if (live().isEmpty()) return;
        DescribeClusterOptions options = new DescribeClusterOptions().includeFencedBrokers(true);
        try (Admin admin = admin()) {
            TestUtils.waitForCondition(() -> admin.describeCluster(options).nodes().get().stream()
                .allMatch(node -> node.id() != brokerId || node.isFenced()), "broker " + brokerId + " was stopped and is not fenced");
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void startBroker(int brokerId) {
        broker(brokerId).stop();
        restart(new NodeProcess(brokerId, nodes.get(brokerId).folder, settings(brokerId, true)));
        down.remove(brokerId);
    }

    /** Kafka's test kit stops the broker of a combined node and leaves its controller: here such a node goes on as a controller alone. */
    private void restart(NodeProcess node) {
        nodes.put(node.id, node);
        try {
            node.launch();
            node.awaitReady();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private NodeProcess broker(int brokerId) {
        if (!brokerPorts.containsKey(brokerId)) throw new IllegalArgumentException("Unknown brokerId " + brokerId);
        return nodes.get(brokerId);
    }

    boolean isAlive(int brokerId) {
        return !down.contains(brokerId) && broker(brokerId).alive();
    }

    NodeProcess node(int id) {
        return nodes.get(id);
    }

    // --- what it is ---------------------------------------------------------------------------------------------------

    @Override
    public Type type() {
        return combined ? Type.CO_KRAFT : Type.KRAFT;
    }

    @Override
    public ClusterConfig config() {
        return config;
    }

    @Override
    public Map<Integer, KafkaBroker> brokers() {
        return BrokerView.of(this, brokerPorts);
    }

    @Override
    public Map<Integer, ControllerServer> controllers() {
        return new InsideMap<>(controllerPorts.keySet());
    }

    @Override
    public List<Authorizer> authorizers() {
        throw new TestAbortedException("uses the authorizer object inside a broker");
    }

    @Override
    public Set<Integer> brokerIds() {
        return brokerPorts.keySet();
    }

    @Override
    public Set<Integer> controllerIds() {
        return controllerPorts.keySet();
    }

    @Override
    public ListenerName clientListener() {
        return config.brokerListenerName();
    }

    @Override
    public ListenerName controllerListenerName() {
        return config.controllerListenerName();
    }

    @Override
    public String bootstrapServers() {
        return addresses(brokerPorts);
    }

    @Override
    public String bootstrapControllers() {
        return addresses(controllerPorts);
    }

    private static String addresses(Map<Integer, Integer> ports) {
        return ports.values().stream().map(port -> "localhost:" + port).collect(Collectors.joining(","));
    }

    @Override
    public List<Integer> brokerBoundPorts() {
        return List.copyOf(brokerPorts.values());
    }

    @Override
    public List<Integer> controllerBoundPorts() {
        return List.copyOf(controllerPorts.values());
    }

    @Override
    public String clusterId() {
        try (Admin admin = admin()) {
            return admin.describeCluster().clusterId().get();
        } catch (Exception error) {
            throw new IllegalStateException(error);
        }
    }

    @Override
    public Set<GroupProtocol> supportedGroupProtocols() {
        boolean off = config.features().getOrDefault(Feature.GROUP_VERSION, (short) 1) == 0
            || "classic".equals(config.serverProperties().get("group.coordinator.rebalance.protocols"));
        return off ? Set.of(GroupProtocol.CLASSIC) : Set.of(GroupProtocol.CLASSIC, GroupProtocol.CONSUMER);
    }

    @Override
    public Optional<FaultHandlerException> firstFatalException() {
        return Optional.empty();
    }

    @Override
    public Optional<FaultHandlerException> firstNonFatalException() {
        return Optional.empty();
    }

    // --- waiting: every live broker is asked over its own port ---------------------------------------------------------

    @Override
    public void waitForReadyBrokers() throws InterruptedException {
        long wanted = live().size();
        TestUtils.waitForCondition(() -> live().stream().allMatch(port -> metadata(port, null).brokers().size() >= wanted), "not all brokers are ready");
    }

    @Override
    public void waitTopicCreation(String topic, int partitions) throws InterruptedException {
        if (partitions <= 0) throw new IllegalArgumentException("Partition count must be > 0, but was " + partitions);
        TestUtils.waitForCondition(() -> live().stream().allMatch(port -> partitionCount(port, topic) == partitions), 60_000,
            topic + " is not known everywhere");
    }

    @Override
    public void waitTopicDeletion(String topic) throws InterruptedException {
        TestUtils.waitForCondition(() -> live().stream().allMatch(port -> partitionCount(port, topic) == -1), 60_000,
            topic + " is still known somewhere");
    }

    @Override
    public void ensureConsistentMetadata() throws InterruptedException {
        waitForReadyBrokers();
    }

    @Override
    public void waitAcls(AclBindingFilter filter, Collection<AccessControlEntry> entries) throws InterruptedException {
        Set<AccessControlEntry> wanted = Set.copyOf(entries);
        TestUtils.waitForCondition(() -> live().stream().allMatch(port -> rules(port, filter).equals(wanted)), "not everywhere the rules " + wanted);
    }

    private Set<AccessControlEntry> rules(int port, AclBindingFilter filter) {
        DescribeAclsResponse answer = ask(port, new DescribeAclsRequest.Builder(filter).build());
        return DescribeAclsResponse.aclBindings(answer.acls()).stream().map(AclBinding::entry).collect(Collectors.toSet());
    }

    private List<Integer> live() {
        return brokerPorts.entrySet().stream().filter(entry -> isAlive(entry.getKey())).map(Map.Entry::getValue).toList();
    }

    /** -1 where there is no such topic. */
    int partitionCount(int port, String topic) {
        MetadataResponse answer = metadata(port, topic);
        if (answer.errors().get(topic) == Errors.UNKNOWN_TOPIC_OR_PARTITION) return -1;
        return answer.topicMetadata().stream().filter(found -> found.topic().equals(topic)).findFirst()
            .map(found -> found.partitionMetadata().size()).orElse(0);
    }

    /** Of one topic, of none (null), or of all. */
    MetadataResponse metadata(int port, String topic) {
        MetadataRequest request = topic == EVERY_TOPIC ? MetadataRequest.Builder.allTopics().build()
            : new MetadataRequest.Builder(topic == null ? List.of() : List.of(topic), false).build();
        return ask(port, request);
    }

    private <T extends AbstractResponse> T ask(int port, AbstractRequest request) {
        SecurityProtocol protocol = config.brokerSecurityProtocol();
        if (protocol != SecurityProtocol.PLAINTEXT && protocol != SecurityProtocol.SASL_PLAINTEXT) {
            throw new TestAbortedException("asks over a listener with " + protocol);
        }
        try (Socket socket = IntegrationTestUtils.connect(port)) {
            if (protocol == SecurityProtocol.SASL_PLAINTEXT) logIn(socket);
            return IntegrationTestUtils.sendAndReceive(request, socket);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** As the admin of Kafka's test kit, by PLAIN. */
    private static void logIn(Socket socket) throws IOException {
        SaslHandshakeRequestData handshake = new SaslHandshakeRequestData().setMechanism("PLAIN");
        IntegrationTestUtils.<SaslHandshakeResponse>sendAndReceive(new SaslHandshakeRequest.Builder(handshake).build(), socket);
        String message = "\0" + JaasUtils.KAFKA_PLAIN_ADMIN + "\0" + JaasUtils.KAFKA_PLAIN_ADMIN_PASSWORD;
        SaslAuthenticateRequestData login = new SaslAuthenticateRequestData().setAuthBytes(message.getBytes(StandardCharsets.UTF_8));
        SaslAuthenticateResponse answer = IntegrationTestUtils.sendAndReceive(new SaslAuthenticateRequest.Builder(login).build(), socket);
        if (answer.error() != Errors.NONE) throw new IOException(answer.errorMessage());
    }
}
