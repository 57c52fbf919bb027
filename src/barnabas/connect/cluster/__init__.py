"""What connectors keep in the cluster, and the way to it."""
