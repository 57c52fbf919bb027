"""PostgreSQL: a source by logical replication (source.py, capture/), and a sink."""
