import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.controller.PartitionChangeBuilder;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;

/**
 * What Apache Kafka's controller makes of a partition, one line in and one line out. In: replicas; isr; elr; last known elr; leader; adding; removing;
 * min.insync.replicas; brokers that are up; wished isr or '-'; unclean shutdown; election; wished replicas or '-'; adding; removing. Out: replicas; isr;
 * elr; leader; adding; removing; by how much the leader epoch grew.
 */
public final class Elections {
    private static int[] numbers(String text) {
        return text.isEmpty() ? new int[0] : Arrays.stream(text.split(",")).mapToInt(Integer::parseInt).toArray();
    }

    private static List<Integer> list(String text) {
        return Arrays.stream(numbers(text)).boxed().collect(Collectors.toList());
    }

    private static String text(int[] numbers) {
        return Arrays.stream(numbers).mapToObj(String::valueOf).collect(Collectors.joining(","));
    }

    private static String decide(String[] f) {
        int[] replicas = numbers(f[0]);
        Uuid[] directories = Arrays.stream(replicas).mapToObj(replica -> new Uuid(7, replica)).toArray(Uuid[]::new);
        PartitionRegistration before = new PartitionRegistration.Builder()
            .setReplicas(replicas).setDirectories(directories).setIsr(numbers(f[1])).setElr(numbers(f[2])).setLastKnownElr(numbers(f[3]))
            .setLeader(Integer.parseInt(f[4])).setLeaderRecoveryState(LeaderRecoveryState.RECOVERED).setLeaderEpoch(5).setPartitionEpoch(9)
            .setAddingReplicas(numbers(f[5])).setRemovingReplicas(numbers(f[6])).build();
        Set<Integer> up = new HashSet<>(list(f[8]));
        PartitionChangeBuilder builder = new PartitionChangeBuilder(
            before, new Uuid(1, 2), 0, up::contains, MetadataVersion.latestProduction(), Integer.parseInt(f[7]), true);
        builder.setUseLastKnownLeaderInBalancedRecovery(true);
        builder.setDefaultDirProvider(broker -> new Uuid(7, broker));
        if (!f[9].equals("-")) {
            builder.setTargetIsr(list(f[9]));
        }
        if (!f[10].isEmpty()) {
            builder.setUncleanShutdownReplicas(list(f[10]));
        }
        builder.setElection(PartitionChangeBuilder.Election.valueOf(f[11]));
        if (!f[12].equals("-")) {
            builder.setTargetReplicas(list(f[12])).setTargetAdding(list(f[13])).setTargetRemoving(list(f[14]));
        }
        Optional<ApiMessageAndVersion> change = builder.build();
        PartitionRegistration after = change.isPresent() ? before.merge((PartitionChangeRecord) change.get().message()) : before;
        return String.join(";", text(after.replicas), text(after.isr), text(after.elr), String.valueOf(after.leader),
            text(after.addingReplicas), text(after.removingReplicas), String.valueOf(after.leaderEpoch - before.leaderEpoch));
    }

    public static void main(String[] ignored) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(decide(line.split(";", -1)));
        }
    }
}
