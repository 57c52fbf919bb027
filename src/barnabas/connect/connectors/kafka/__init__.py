"""Topics of another cluster, as a source and as a sink."""
