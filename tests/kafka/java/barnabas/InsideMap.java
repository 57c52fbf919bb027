package barnabas;

import java.util.AbstractMap;
import java.util.Set;
import org.opentest4j.TestAbortedException;

/** The controllers of a cluster as Kafka's tests ask for them: none can be looked into. Walking over them finds nothing, taking one ends the test. */
final class InsideMap<V> extends AbstractMap<Integer, V> {
    private final Set<Integer> ids;

    InsideMap(Set<Integer> ids) {
        this.ids = ids;
    }

    @Override
    public Set<Integer> keySet() {
        return ids;
    }

    @Override
    public V get(Object id) {
        throw new TestAbortedException("uses the inside of a controller");
    }

    @Override
    public Set<Entry<Integer, V>> entrySet() {
        return Set.of();
    }
}
