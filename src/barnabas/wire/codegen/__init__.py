"""Compiles readers and writers of messages from the schemas."""
