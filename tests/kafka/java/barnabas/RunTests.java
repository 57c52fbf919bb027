package barnabas;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.annotation.Annotation;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import org.junit.platform.engine.FilterResult;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.PostDiscoveryFilter;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.opentest4j.TestAbortedException;

/**
 * Runs the `@ClusterTest`s of one class, and writes a line of JSON for each run of each: RunTests CLASS [PATTERN-OF-METHODS].
 * A test of a class that needs no cluster says nothing about Barnabas and is left out.
 */
public final class RunTests implements TestExecutionListener {
    private static final ObjectMapper JSON = new ObjectMapper();
    private final Map<String, Long> begun = new LinkedHashMap<>();
    private final java.io.PrintStream out;

    private RunTests(java.io.PrintStream out) {
        this.out = out;
    }

    public static void main(String[] arguments) throws Exception {
        java.io.PrintStream out = new java.io.PrintStream(System.getProperty("barnabas.results"), "UTF-8");
        Class<?> test = Class.forName(arguments[0]);
        Pattern methods = Pattern.compile(arguments.length > 1 ? arguments[1] : ".*");
        LauncherDiscoveryRequest request = LauncherDiscoveryRequestBuilder.request()
            .selectors(selectClass(test)).filters(chosen(methods))
            .configurationParameter("junit.jupiter.extensions.autodetection.enabled", "true")
            .configurationParameter("junit.jupiter.execution.timeout.default", System.getProperty("barnabas.timeout", "180 s"))
            .configurationParameter("junit.jupiter.execution.timeout.thread.mode.default", "SEPARATE_THREAD").build();
        LauncherFactory.create().execute(request, new RunTests(out));
        out.close();
        Runtime.getRuntime().halt(0); // threads that a test left behind do not keep the run
    }

    private static PostDiscoveryFilter chosen(Pattern methods) {
        return descriptor -> {
            if (!(descriptor.getSource().orElse(null) instanceof MethodSource source)) return FilterResult.included("no method");
            boolean cluster = false;
            for (Annotation each : source.getJavaMethod().getAnnotations()) {
                cluster |= each.annotationType().getName().startsWith("org.apache.kafka.common.test.api.ClusterTe");
            }
            return FilterResult.includedIf(cluster && methods.matcher(source.getMethodName()).matches());
        };
    }

    @Override
    public void executionStarted(TestIdentifier test) {
        begun.put(test.getUniqueId(), System.nanoTime());
    }

    @Override
    public void executionSkipped(TestIdentifier test, String reason) {
        write(test, "skipped", reason, "");
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        Optional<Throwable> thrown = result.getThrowable();
        if (test.isContainer() && thrown.isEmpty()) return;
        StringWriter trace = new StringWriter();
        thrown.ifPresent(error -> error.printStackTrace(new PrintWriter(trace)));
        Optional<Throwable> aborted = thrown.flatMap(RunTests::aborted);
        String state = switch (result.getStatus()) {
            case SUCCESSFUL -> "passed";
            case ABORTED -> "skipped";
            case FAILED -> aborted.isPresent() ? "skipped" : "failed";
        };
        write(test, state, aborted.or(() -> thrown).map(Throwable::toString).orElse(""), trace.toString());
    }

    /** Kafka's helpers that try again catch also what should end the test, and throw it as the cause of something else. */
    private static Optional<Throwable> aborted(Throwable error) {
        for (Throwable each = error; each != null; each = each.getCause()) {
            if (each instanceof TestAbortedException) return Optional.of(each);
            if (each instanceof ClassCastException && String.valueOf(each.getMessage()).contains("kafka.server.BrokerServer")) {
                return Optional.of(new TestAbortedException("uses the inside of a broker"));
            }
        }
        return Optional.empty();
    }

    private void write(TestIdentifier test, String state, String reason, String trace) {
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("method", test.getSource().filter(MethodSource.class::isInstance).map(source -> ((MethodSource) source).getMethodName()).orElse("*"));
        row.put("run", test.getDisplayName());
        row.put("state", state);
        row.put("seconds", (System.nanoTime() - begun.getOrDefault(test.getUniqueId(), System.nanoTime())) / 100_000_000 / 10.0);
        row.put("reason", reason);
        row.put("trace", trace);
        try {
            out.println(JSON.writeValueAsString(row));
            out.flush();
        } catch (java.io.IOException error) {
            throw new java.io.UncheckedIOException(error);
        }
    }
}
