"""Where a node's settings come from, and log levels that change while it runs."""
