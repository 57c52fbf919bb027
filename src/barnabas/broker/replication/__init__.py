"""Replication: filling the followers on this node, and telling the controller who is in sync."""
