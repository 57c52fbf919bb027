"""The records of `__consumer_offsets`, byte for byte as Apache Kafka 4 writes them: lag tools read this topic.

The key begins with an int16 that names the kind of record; the value begins with an int16 that is its own version. A
null value is a tombstone. Kinds of other group types (share, streams) share the topic and are skipped, never refused.
"""
