import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

/**
 * How Apache Kafka's coordinator assigns a group, one line in and one line out. In: assignor; partitions of topics 0, 1, ...; and for each member
 * id|topics|topic.partition it has. Out: for each member id|topic.partition.
 */
public final class Assignors {
    private static Uuid id(String topic) {
        return new Uuid(0, Long.parseLong(topic) + 1);
    }

    private static String[] list(String text) {
        return text.isEmpty() ? new String[0] : text.split(",");
    }

    private static String assign(String line) {
        String[] fields = line.split(";");
        String[] sizes = list(fields[1]);
        Map<Uuid, Integer> counts = new HashMap<>();
        for (int i = 0; i < sizes.length; i++) {
            counts.put(id(Integer.toString(i)), Integer.parseInt(sizes[i]));
        }
        Map<String, MemberSubscriptionAndAssignmentImpl> members = new HashMap<>();
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        Set<Set<Uuid>> subscriptions = new HashSet<>();
        for (int i = 2; i < fields.length; i++) {
            String[] parts = fields[i].split("\\|", -1);
            Set<Uuid> topics = new HashSet<>();
            for (String topic : list(parts[1])) {
                topics.add(id(topic));
            }
            Map<Uuid, Set<Integer>> current = new HashMap<>();
            for (String pair : list(parts[2])) {
                Uuid topic = id(pair.split("\\.")[0]);
                int partition = Integer.parseInt(pair.split("\\.")[1]);
                current.computeIfAbsent(topic, key -> new HashSet<>()).add(partition);
                owners.computeIfAbsent(topic, key -> new HashMap<>()).put(partition, parts[0]);
            }
            subscriptions.add(topics);
            Assignment assignment = new Assignment(current);
            members.put(parts[0], new MemberSubscriptionAndAssignmentImpl(Optional.empty(), Optional.empty(), topics, assignment));
        }
        SubscribedTopicDescriber describer = new SubscribedTopicDescriber() {
            @Override
            public int numPartitions(Uuid topic) {
                return counts.getOrDefault(topic, -1);
            }

            @Override
            public Set<String> racksForPartition(Uuid topic, int partition) {
                return Set.of();
            }
        };
        SubscriptionType type = subscriptions.size() == 1 ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS;
        ConsumerGroupPartitionAssignor assignor = fields[0].equals("range") ? new RangeAssignor() : new UniformAssignor();
        StringBuilder out = new StringBuilder();
        assignor.assign(new GroupSpecImpl(members, type, owners), describer).members().forEach((member, given) -> {
            out.append(out.length() == 0 ? "" : ";").append(member).append('|');
            given.partitions().forEach((topic, numbers) -> {
                for (int number : numbers) {
                    out.append(topic.getLeastSignificantBits() - 1).append('.').append(number).append(',');
                }
            });
        });
        return out.toString();
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(assign(line));
        }
    }
}
