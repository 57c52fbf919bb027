import org.apache.kafka.common.errors.InvalidMetadataException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.protocol.Errors;

/** Every error code that Kafka's own clients retry, and whether they ask for metadata first. */
public class RetriableCodes {
    public static void main(String[] args) {
        for (Errors error : Errors.values()) {
            if (error.exception() instanceof RetriableException) {
                System.out.println(error.name() + " " + (error.exception() instanceof InvalidMetadataException));
            }
        }
    }
}
