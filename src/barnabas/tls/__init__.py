"""TLS contexts from Kafka's `ssl.*` settings, for listeners and for whoever connects to one."""
