"""Our tools on Apache Kafka and on a node: they do the same on both."""
