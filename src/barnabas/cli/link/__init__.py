"""`barnabas link`: topics that follow those of another cluster."""
