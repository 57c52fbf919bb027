import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/** Java's Admin against BOOTSTRAP, TOPIC and GROUP: one call of everything served, a line `name: result` for each. */
public final class AdminTour {
    private interface Call {
        Object run() throws Exception;
    }

    private static void show(String name, Call call) {
        try {
            System.out.println(name + ": " + call.run());
        } catch (ExecutionException e) {
            System.out.println(name + ": " + e.getCause().getClass().getSimpleName());
        } catch (Exception e) {
            System.out.println(name + ": " + e);
        }
    }

    public static void main(String[] args) {
        String topic = args[1];
        String group = args[2];
        Properties properties = new Properties();
        properties.put("bootstrap.servers", args[0]);
        try (Admin admin = Admin.create(properties)) {
            TopicPartition first = new TopicPartition(topic, 0);
            ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
            show("create", () -> {
                var made = admin.createTopics(List.of(new NewTopic(topic, 3, (short) 1).configs(Map.of("retention.ms", "60000"))));
                made.all().get();
                return made.numPartitions(topic).get() + " " + made.config(topic).get().get("retention.ms").value();
            });
            show("create again", () -> admin.createTopics(List.of(new NewTopic(topic, 3, (short) 1))).all().get());
            show("list", () -> admin.listTopics().names().get().contains(topic));
            show("describe", () -> admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().size());
            show("describe by id", () -> {
                var id = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).topicId();
                return admin.describeTopics(TopicCollection.ofTopicIds(List.of(id))).allTopicIds().get().get(id).name().equals(topic);
            });
            show("describe unknown", () -> admin.describeTopics(List.of("no-such-topic")).allTopicNames().get());
            show("grow", () -> admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(4))).all().get());
            show("configs", () -> admin.describeConfigs(List.of(resource)).all().get().get(resource).entries().size() > 30);
            show("alter", () -> admin.incrementalAlterConfigs(Map.of(resource,
                List.of(new AlterConfigOp(new ConfigEntry("retention.ms", "70000"), AlterConfigOp.OpType.SET)))).all().get());
            show("altered", () -> admin.describeConfigs(List.of(resource)).all().get().get(resource).get("retention.ms").value());
            show("end", () -> admin.listOffsets(Map.of(first, OffsetSpec.latest())).partitionResult(first).get().offset());
            show("max timestamp", () -> admin.listOffsets(Map.of(first, OffsetSpec.maxTimestamp())).partitionResult(first).get().offset());
            show("earliest local", () -> admin.listOffsets(Map.of(first, OffsetSpec.earliestLocal())).partitionResult(first).get().offset());
            show("delete records", () -> admin.deleteRecords(Map.of(first, RecordsToDelete.beforeOffset(0))).lowWatermarks().get(first).get().lowWatermark());
            show("commit", () -> admin.alterConsumerGroupOffsets(group, Map.of(first, new OffsetAndMetadata(0, "by hand"))).all().get());
            show("offsets", () -> admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().get(first).metadata());
            show("groups", () -> admin.listGroups().all().get().stream().anyMatch(g -> g.groupId().equals(group)));
            show("describe group", () -> admin.describeConsumerGroups(List.of(group)).all().get().get(group).groupState());
            show("describe unknown group", () -> admin.describeConsumerGroups(List.of("no-such-group")).all().get());
            show("forget offsets", () -> admin.deleteConsumerGroupOffsets(group, Set.of(first)).all().get());
            show("delete group", () -> admin.deleteConsumerGroups(List.of(group)).all().get());
            show("cluster", () -> admin.describeCluster(new DescribeClusterOptions().includeAuthorizedOperations(true)).nodes().get().size());
            show("log dirs", () -> {
                var node = admin.describeCluster().nodes().get().iterator().next().id();
                return admin.describeLogDirs(List.of(node)).allDescriptions().get().get(node).values().iterator().next()
                    .replicaInfos().containsKey(first);
            });
            show("quorum", () -> admin.describeMetadataQuorum().quorumInfo().get().voters().size());
            show("features", () -> new TreeMap<>(admin.describeFeatures().featureMetadata().get().finalizedFeatures()).containsKey("group.version"));
            show("elect", () -> admin.electLeaders(ElectionType.PREFERRED, Set.of(first)).partitions().get().get(first).isPresent());
            show("config resources", () -> admin.listConfigResources(Set.of(ConfigResource.Type.TOPIC), new org.apache.kafka.clients.admin.ListConfigResourcesOptions())
                .all().get().stream().anyMatch(r -> r.name().equals(topic)));
            show("delete", () -> admin.deleteTopics(List.of(topic)).all().get());
        }
    }
}
