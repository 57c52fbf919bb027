"""The Admin: topics, settings, groups and records, seen from outside."""
