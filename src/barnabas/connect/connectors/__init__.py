"""One folder a system: its source, its sink, what both share."""
