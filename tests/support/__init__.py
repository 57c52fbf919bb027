"""What the tests of a running node share: servers to start, a raw wire client, a JVM that runs Kafka's tools."""
