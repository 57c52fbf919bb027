import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.util.Optional;
import java.util.function.Supplier;
import org.apache.kafka.common.errors.ThrottlingQuotaExceededException;
import org.apache.kafka.common.metrics.MetricConfig;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.Quota;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Timer;
import org.apache.kafka.network.Session;
import org.apache.kafka.server.config.ClientQuotaManagerConfig;
import org.apache.kafka.server.quota.ClientQuotaEntity.ConfigEntity;
import org.apache.kafka.server.quota.ClientQuotaManager;
import org.apache.kafka.server.quota.ControllerMutationQuota;
import org.apache.kafka.server.quota.ControllerMutationQuotaManager;
import org.apache.kafka.server.quota.QuotaType;

/**
 * What Apache Kafka's ClientQuotaManager and ControllerMutationQuotaManager decide, one history a line. A history is steps separated by '|':
 *   rule,USER,CLIENT,VALUE    a quota; a user or client is a name, '*' the default, or empty; without a value it is removed
 *   use,USER,CLIENT,AMOUNT,WAIT_MS   after WAIT_MS a client uses so much: out comes its throttle time
 *   back,USER,CLIENT,AMOUNT   it is taken back
 *   strict,USER,CLIENT,AMOUNT,WAIT_MS / lax,...   the same for partitions: throttle time, with '!' where it is refused
 * Out: for each use its throttle time, separated by ','.
 */
public final class Quotas {
    private static final class Clock implements Time {
        long ms = 1_700_000_000_000L;

        @Override
        public long milliseconds() {
            return ms;
        }

        @Override
        public long hiResClockMs() {
            return ms;
        }

        @Override
        public long nanoseconds() {
            return ms * 1_000_000;
        }

        @Override
        public void sleep(long time) {
            ms += time;
        }

        @Override
        public void waitObject(Object object, Supplier<Boolean> condition, long deadline) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Timer timer(long timeout) {
            return new Object() { Timer made() { return Time.SYSTEM.timer(timeout); } }.made();
        }
    }

    private static Optional<ConfigEntity> user(String name) {
        if (name.isEmpty()) return Optional.empty();
        return Optional.of(name.equals("*") ? ClientQuotaManager.DEFAULT_USER_ENTITY : new ClientQuotaManager.UserEntity(name));
    }

    private static Optional<ConfigEntity> client(String name) {
        if (name.isEmpty()) return Optional.empty();
        return Optional.of(name.equals("*") ? ClientQuotaManager.DEFAULT_USER_CLIENT_ID : new ClientQuotaManager.ClientIdEntity(name));
    }

    private static Session session(String user) throws Exception {
        return new Session(new KafkaPrincipal("User", user), InetAddress.getLoopbackAddress());
    }

    private static String history(String line, int samples, int seconds) throws Exception {
        Clock clock = new Clock();
        Metrics metrics = new Metrics(new MetricConfig(), new java.util.ArrayList<>(), clock);
        ClientQuotaManagerConfig config = new ClientQuotaManagerConfig(samples, seconds);
        ClientQuotaManager bytes = new ClientQuotaManager(config, metrics, QuotaType.PRODUCE, clock, "");
        ControllerMutationQuotaManager partitions = new ControllerMutationQuotaManager(config, metrics, clock, "", Optional.empty());
        StringBuilder out = new StringBuilder();
        for (String step : line.split("\\|")) {
            String[] f = step.split(",", -1);
            switch (f[0]) {
                case "rule" -> {
                    Optional<Quota> quota = f[3].isEmpty() ? Optional.empty() : Optional.of(Quota.upperBound(Double.parseDouble(f[3])));
                    bytes.updateQuota(user(f[1]), client(f[2]), quota);
                    partitions.updateQuota(user(f[1]), client(f[2]), quota);
                }
                case "use" -> {
                    clock.ms += Long.parseLong(f[4]);
                    out.append(bytes.maybeRecordAndGetThrottleTimeMs(session(f[1]), f[2], Double.parseDouble(f[3]), clock.ms)).append(',');
                }
                case "back" -> bytes.unrecordQuotaSensor(session(f[1]), f[2], Double.parseDouble(f[3]), clock.ms);
                default -> {
                    clock.ms += Long.parseLong(f[4]);
                    ControllerMutationQuota quota = f[0].equals("strict")
                        ? partitions.newStrictQuotaFor(session(f[1]), f[2]) : partitions.newPermissiveQuotaFor(session(f[1]), f[2]);
                    try {
                        quota.record(Double.parseDouble(f[3]));
                        out.append(quota.throttleTime()).append(',');
                    } catch (ThrottlingQuotaExceededException error) {
                        out.append(error.throttleTimeMs()).append("!,");
                    }
                }
            }
        }
        bytes.shutdown();
        partitions.shutdown();
        metrics.close();
        return out.toString();
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        StringBuilder out = new StringBuilder();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] parts = line.split(";", -1);
            out.append("= ").append(history(parts[2], Integer.parseInt(parts[0]), Integer.parseInt(parts[1]))).append('\n');
        }
        System.out.print(out);
        System.exit(0);
    }
}
