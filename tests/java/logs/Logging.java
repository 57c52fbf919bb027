import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/** Writes by log4j2 as it is without a configuration: errors to the console, one with a cause. Run as a source file. */
public class Logging {
    public static void main(String[] arguments) {
        Logger log = LogManager.getLogger("org.example.shop.Orders");
        log.error("order {} is late", 17);
        try {
            try {
                throw new java.io.IOException("disk full");
            } catch (java.io.IOException cause) {
                throw new IllegalStateException("order 18 not written", cause);
            }
        } catch (IllegalStateException problem) {
            log.error("order 18 failed", problem);
        }
        log.error("order {} is late", 19);
    }
}
