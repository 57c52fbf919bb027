import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AccessControlEntryFilter;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourcePatternFilter;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.SecurityUtils;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;

/**
 * What Apache Kafka's StandardAuthorizer decides, one line in and one line out. In: super users; allow everyone; rules; questions; filters. Rules,
 * questions and filters are separated by '|', their fields by ','; enums are their codes, an empty field of a filter is any. Out: for each question
 * two digits (allowed; allowed on some resource of its type), then ';', then for each filter how many rules it matches, separated by ','.
 */
public final class Authorizations {
    private record Context(KafkaPrincipal principal, InetAddress clientAddress) implements AuthorizableRequestContext {
        @Override
        public String listenerName() {
            return "PLAINTEXT";
        }

        @Override
        public SecurityProtocol securityProtocol() {
            return SecurityProtocol.PLAINTEXT;
        }

        @Override
        public int requestType() {
            return 3;
        }

        @Override
        public int requestVersion() {
            return 1;
        }

        @Override
        public String clientId() {
            return "";
        }

        @Override
        public int correlationId() {
            return 1;
        }
    }

    private static byte code(String text) {
        return Byte.parseByte(text);
    }

    private static StandardAcl rule(String text) {
        String[] f = text.split(",");
        return new StandardAcl(ResourceType.fromCode(code(f[0])), f[1], PatternType.fromCode(code(f[2])), f[3], f[4],
            AclOperation.fromCode(code(f[5])), AclPermissionType.fromCode(code(f[6])));
    }

    private static String orNull(String text) {
        return text.isEmpty() ? null : text;
    }

    private static AclBindingFilter filter(String text) {
        String[] f = text.split(",", -1);
        return new AclBindingFilter(
            new ResourcePatternFilter(ResourceType.fromCode(code(f[0])), orNull(f[1]), PatternType.fromCode(code(f[2]))),
            new AccessControlEntryFilter(orNull(f[3]), orNull(f[4]), AclOperation.fromCode(code(f[5])), AclPermissionType.fromCode(code(f[6]))));
    }

    private static String decide(StandardAuthorizer authorizer, String[] f) throws Exception {
        authorizer.configure(Map.of("super.users", f[0], "allow.everyone.if.no.acl.found", f[1]));
        Map<Uuid, StandardAcl> rules = new HashMap<>();
        for (String text : f[2].isEmpty() ? new String[0] : f[2].split("\\|")) {
            rules.put(new Uuid(1, rules.size()), rule(text));
        }
        authorizer.loadSnapshot(rules);
        authorizer.completeInitialLoad();
        StringBuilder out = new StringBuilder();
        for (String text : f[3].split("\\|")) {
            String[] q = text.split(",");
            Context context = new Context(SecurityUtils.parseKafkaPrincipal(q[0]), InetAddress.getByName(q[1]));
            AclOperation operation = AclOperation.fromCode(code(q[2]));
            ResourceType type = ResourceType.fromCode(code(q[3]));
            Action action = new Action(operation, new ResourcePattern(type, q[4], PatternType.LITERAL), 1, false, false);
            out.append(authorizer.authorize(context, List.of(action)).get(0) == AuthorizationResult.ALLOWED ? '1' : '0');
            out.append(authorizer.authorizeByResourceType(context, operation, type) == AuthorizationResult.ALLOWED ? '1' : '0');
        }
        out.append(';');
        for (String text : f[4].split("\\|")) {
            int count = 0;
            for (Object ignored : authorizer.acls(filter(text))) {
                count++;
            }
            out.append(count).append(',');
        }
        return out.toString();
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        StringBuilder out = new StringBuilder();
        StandardAuthorizer authorizer = new StandardAuthorizer();
        authorizer.withPluginMetrics(new PluginMetricsImpl(new Metrics(), Map.of()));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.append(decide(authorizer, line.split(";", -1))).append('\n');
        }
        System.out.print(out);
    }
}
