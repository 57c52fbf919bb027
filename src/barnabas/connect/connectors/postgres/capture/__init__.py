"""Change data capture: the snapshot, the replication stream, and the position that joins them."""
