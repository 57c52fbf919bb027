package org.apache.kafka.common.test.junit;

import barnabas.BarnabasCluster;
import java.util.List;
import org.apache.kafka.common.test.api.ClusterConfig;
import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.Extension;
import org.junit.jupiter.api.extension.TestTemplateInvocationContext;
import org.opentest4j.TestAbortedException;

/**
 * Stands in front of Kafka's class of the same name on the class path: `ClusterTestExtensions` makes one for each run of a `@ClusterTest`, and what
 * it starts here is a cluster of Barnabas nodes.
 */
public class RaftClusterInvocationContext implements TestTemplateInvocationContext {
    private static final boolean ONE_KIND = Boolean.getBoolean("barnabas.one.kind");
    private final String name;
    private final ClusterConfig config;
    private final boolean combined;

    public RaftClusterInvocationContext(String baseDisplayName, ClusterConfig clusterConfig, boolean isCombined) {
        name = baseDisplayName;
        config = clusterConfig;
        combined = isCombined;
    }

    @Override
    public String getDisplayName(int index) {
        String tags = String.join(",", config.displayTags());
        return name + " [" + index + "] " + (combined ? "combined" : "isolated") + (tags.isEmpty() ? "" : ", " + tags);
    }

    @Override
    public List<Extension> getAdditionalExtensions() {
        BarnabasCluster cluster = new BarnabasCluster(config, combined);
        return List.of(
            (BeforeEachCallback) context -> {
                if (ONE_KIND && !combined && config.clusterTypes().size() > 1) {
                    throw new TestAbortedException("the quick run starts one kind of cluster for each test");
                }
                cluster.format();
                if (config.isAutoStart()) cluster.start();
            },
            (AfterTestExecutionCallback) context -> cluster.stop(),
            new ClusterInstanceParameterResolver(cluster));
    }
}
