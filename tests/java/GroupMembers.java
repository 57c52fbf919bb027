import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Members of one group, each in a thread with its own protocol: `GroupMembers BOOTSTRAP TOPIC GROUP EXPECTED PROTOCOL,PROTOCOL,... [name=value ...]`.
 * A protocol is classic, cooperative, consumer, or consumer:ASSIGNOR. They read until together they have EXPECTED different records and every
 * member's assignment has been quiet for a moment; then one line tells what each member owned and read, and a last one what was read twice.
 */
public final class GroupMembers {
    private static final class Member implements Runnable, ConsumerRebalanceListener {
        final Properties properties;
        final String topic;
        final Set<Integer> owned = ConcurrentHashMap.newKeySet();
        final AtomicInteger read = new AtomicInteger();
        final AtomicInteger changes = new AtomicInteger();
        final AtomicBoolean stop = new AtomicBoolean();
        volatile long changed = System.currentTimeMillis();
        volatile Throwable failure;
        final ConcurrentHashMap<String, Integer> seen;

        Member(Properties properties, String topic, ConcurrentHashMap<String, Integer> seen) {
            this.properties = properties;
            this.topic = topic;
            this.seen = seen;
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            partitions.forEach(p -> owned.add(p.partition()));
            changes.incrementAndGet();
            changed = System.currentTimeMillis();
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            partitions.forEach(p -> owned.remove(p.partition()));
            changes.incrementAndGet();
            changed = System.currentTimeMillis();
        }

        @Override
        public void run() {
            try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(properties, new StringDeserializer(), new StringDeserializer())) {
                consumer.subscribe(List.of(topic), this);
                while (!stop.get()) {
                    for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(100))) {
                        seen.merge(record.partition() + ":" + record.offset(), 1, Integer::sum);
                        read.incrementAndGet();
                    }
                }
                consumer.commitSync();
            } catch (Throwable e) {
                failure = e;
            }
        }
    }

    public static void main(String[] args) throws Exception {
        ConcurrentHashMap<String, Integer> seen = new ConcurrentHashMap<>();
        List<Member> members = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        int expected = Integer.parseInt(args[3]);
        for (String protocol : args[4].split(",")) {
            Properties properties = Records.settings(args[0], args, 5);
            properties.put("group.id", args[2]);
            properties.put("auto.offset.reset", "earliest");
            properties.put("client.id", protocol + "-" + members.size());
            if (protocol.startsWith("consumer")) {
                properties.put("group.protocol", "consumer");
                if (protocol.contains(":")) {
                    properties.put("group.remote.assignor", protocol.split(":")[1]);
                }
            } else {
                properties.put("session.timeout.ms", "6000");
                properties.put("heartbeat.interval.ms", "300");
                if (protocol.equals("cooperative")) {
                    properties.put("partition.assignment.strategy", "org.apache.kafka.clients.consumer.CooperativeStickyAssignor");
                }
            }
            Member member = new Member(properties, args[1], seen);
            members.add(member);
            threads.add(new Thread(member));
        }
        threads.forEach(Thread::start);
        long deadline = System.currentTimeMillis() + 45_000;
        while (System.currentTimeMillis() < deadline) {
            long quiet = System.currentTimeMillis() - members.stream().mapToLong(m -> m.changed).max().getAsLong();
            boolean settled = quiet > 1500 && members.stream().allMatch(m -> m.changes.get() > 0);
            if ((seen.size() >= expected && settled) || members.stream().anyMatch(m -> m.failure != null)) {
                break;
            }
            Thread.sleep(20);
        }
        List<String> lines = new ArrayList<>();
        for (Member member : members) {
            lines.add(new TreeSet<>(member.owned) + " read " + member.read.get() + " failure " + member.failure);
        }
        members.forEach(m -> m.stop.set(true));
        for (Thread thread : threads) {
            thread.join(20_000);
        }
        lines.forEach(System.out::println);
        System.out.println("distinct " + seen.size() + " twice " + seen.values().stream().filter(n -> n > 1).count());
    }
}
