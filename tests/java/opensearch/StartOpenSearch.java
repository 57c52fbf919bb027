import java.lang.reflect.InvocationTargetException;

/** Starts one node of OpenSearch and waits: StartOpenSearch FOLDER PORT. Settings are in FOLDER/node_1/config/opensearch.yml.
    By reflection, since OpenSearch needs a newer Java than the compiler that Debian has: its classes are only there when
    this runs. The runner's own main takes no port above 9299 and hides why a node does not start. */
public class StartOpenSearch {
    public static void main(String[] given) throws Exception {
        Class<?> kind = Class.forName("org.codelibs.opensearch.runner.OpenSearchRunner");
        Object runner = kind.getConstructor().newInstance();
        int port = Integer.parseInt(given[1]);
        kind.getMethod("setMaxHttpPort", int.class).invoke(runner, port);
        String[] options = {
            "-basePath", given[0], "-numOfNode", "1", "-baseHttpPort", String.valueOf(port - 1), "-clusterName", "tests",
            // Without the analyzers of languages: the Java of the tests has no data of Thai, which one of them needs.
            "-moduleTypes", "org.opensearch.transport.Netty4ModulePlugin"};
        try {
            kind.getMethod("build", String[].class).invoke(runner, (Object) options);
        } catch (InvocationTargetException failed) {
            failed.getCause().printStackTrace();
            System.exit(1);
        }
        Thread.currentThread().join();
    }
}
