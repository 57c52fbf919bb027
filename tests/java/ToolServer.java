import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs the main methods of Kafka's tools one after another in one JVM: a tool's own start costs two seconds, here it costs
 * milliseconds. A call is one line on standard input, base64 words: class, standard input, arguments. Its answer is one line: exit
 * code, then output and errors in base64. An exit of the tool becomes an exception.
 */
public final class ToolServer {
    private static final class Left extends Error {
        Left(String message) {
            super(message);
        }
    }

    private static String text(String word) {
        return new String(Base64.getDecoder().decode(word), StandardCharsets.UTF_8);
    }

    private static String word(ByteArrayOutputStream bytes) {
        return Base64.getEncoder().encodeToString(bytes.toByteArray());
    }

    public static void main(String[] ignored) throws Exception {
        PrintStream wire = System.out;
        InputStream realIn = System.in;
        AtomicReference<Integer> first = new AtomicReference<>();
        Exit.Procedure leave = (code, message) -> {
            first.compareAndSet(null, code); // a tool may catch what is thrown here and leave again with another code
            throw new Left(message);
        };
        Exit.setExitProcedure(leave);
        Exit.setHaltProcedure(leave);
        List<Runnable> hooks = new CopyOnWriteArrayList<>(); // what a tool wants done when its JVM ends is done when the call ends
        Exit.setShutdownHookAdder((name, runnable) -> hooks.add(runnable));
        BufferedReader lines = new BufferedReader(new InputStreamReader(realIn, StandardCharsets.US_ASCII));
        wire.println("ready");
        wire.flush();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            List<String> words = new ArrayList<>();
            for (String w : line.split(" ", -1)) {
                words.add(w.equals("-") ? "" : text(w));
            }
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            ByteArrayOutputStream err = new ByteArrayOutputStream();
            int code = 0;
            first.set(null);
            System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
            System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
            System.setIn(new ByteArrayInputStream(words.get(1).getBytes(StandardCharsets.UTF_8)));
            try {
                Method main = Class.forName(words.get(0)).getMethod("main", String[].class);
                String[] args = words.subList(2, words.size()).toArray(new String[0]);
                main.invoke(null, (Object) args);
            } catch (InvocationTargetException e) {
                Throwable cause = e.getCause();
                if (cause instanceof Left) {
                    if (cause.getMessage() != null) {
                        System.err.println(cause.getMessage());
                    }
                } else {
                    code = 99;
                    cause.printStackTrace();
                }
            } catch (ReflectiveOperationException e) {
                code = 98;
                e.printStackTrace();
            }
            if (first.get() != null) {
                code = first.get();
            }
            for (Runnable hook : hooks) {
                try {
                    hook.run();
                } catch (Throwable e) {
                    e.printStackTrace();
                }
            }
            hooks.clear();
            System.out.flush();
            System.err.flush();
            System.setOut(new PrintStream(OutputStream.nullOutputStream())); // a thread the tool left behind must not speak for the next one
            System.setErr(System.out);
            wire.println(code + " =" + word(out) + " =" + word(err));
            wire.flush();
        }
        Runtime.getRuntime().halt(0);
    }
}
