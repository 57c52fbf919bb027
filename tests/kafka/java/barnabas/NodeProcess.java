package barnabas;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/** One `barnabas up` as a child process, with its settings in a server.properties. Stopped at the latest when the JVM ends. */
final class NodeProcess {
    private static final Set<Process> RUNNING = ConcurrentHashMap.newKeySet();
    private static final Set<Integer> TAKEN = ConcurrentHashMap.newKeySet();

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> RUNNING.forEach(Process::destroyForcibly)));
    }

    final int id;
    final Path folder;
    private final Map<String, String> settings;
    private Process process;

    NodeProcess(int id, Path folder, Map<String, String> settings) {
        this.id = id;
        this.folder = folder;
        this.settings = settings;
    }

    /** Below the ephemeral range, so that no outgoing connection takes it between now and the start. */
    static int freePort() {
        while (true) {
            int port = ThreadLocalRandom.current().nextInt(12_000, 31_000);
            if (!TAKEN.add(port)) continue;
            try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getByName("127.0.0.1"))) {
                return socket.getLocalPort();
            } catch (IOException taken) {
                TAKEN.remove(port);
            }
        }
    }

    Map<String, String> settings() {
        return settings;
    }

    boolean alive() {
        return process != null && process.isAlive();
    }

    void launch() throws IOException {
        Files.createDirectories(folder);
        StringBuilder text = new StringBuilder();
        settings.forEach((name, value) -> text.append(name).append('=').append(value.replace("\\", "\\\\")).append('\n'));
        Path file = folder.resolve("server.properties");
        Files.writeString(file, text);
        ProcessBuilder builder = new ProcessBuilder(List.of(System.getProperty("barnabas.command"), "up", "-q", "--config", file.toString()));
        builder.environment().put("PYTHONUNBUFFERED", "1");
        builder.redirectError(ProcessBuilder.Redirect.appendTo(folder.resolve("node.log").toFile()));
        process = builder.start();
        RUNNING.add(process);
    }

    /** The node prints its address when it serves, also one that is only a controller. */
    void awaitReady() throws IOException {
        BufferedReader reader = new BufferedReader(new InputStreamReader(process.getInputStream()));
        if (reader.readLine() == null) {
            throw new IllegalStateException("node " + id + " did not start: " + Files.readString(folder.resolve("node.log")).strip());
        }
    }

    void stop() {
        if (process == null) return;
        process.destroy();
        try {
            if (!process.waitFor(20, TimeUnit.SECONDS)) process.destroyForcibly().waitFor();
        } catch (InterruptedException interrupted) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
        RUNNING.remove(process);
    }

    void kill() {
        if (process == null) return;
        process.destroyForcibly();
        RUNNING.remove(process);
    }
}
