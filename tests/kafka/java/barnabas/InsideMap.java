package barnabas;

import java.util.AbstractCollection;
import java.util.AbstractMap;
import java.util.Collection;
import java.util.Iterator;
import java.util.Set;
import java.util.stream.Stream;
import org.opentest4j.TestAbortedException;

/**
 * The controllers of a cluster as Kafka's tests ask for them: none can be looked into. Kafka's Scala helpers walk over them to wait until all have the same
 * metadata, and find none here; taking one ends the test as skipped.
 */
final class InsideMap<V> extends AbstractMap<Integer, V> {
    private final Set<Integer> ids;

    InsideMap(Set<Integer> ids) {
        this.ids = ids;
    }

    private static TestAbortedException inside() {
        return new TestAbortedException("uses the inside of a controller");
    }

    @Override
    public Set<Integer> keySet() {
        return ids;
    }

    @Override
    public V get(Object id) {
        throw inside();
    }

    @Override
    public Collection<V> values() {
        return new AbstractCollection<>() {
            @Override
            public Iterator<V> iterator() {
                return new Iterator<>() {
                    @Override
                    public boolean hasNext() {
                        return false;
                    }

                    @Override
                    public V next() {
                        throw inside();
                    }
                };
            }

            @Override
            public Stream<V> stream() {
                throw inside();
            }

            @Override
            public int size() {
                return 0;
            }
        };
    }

    @Override
    public Set<Entry<Integer, V>> entrySet() {
        throw inside();
    }
}
