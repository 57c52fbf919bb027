"""The audit trail of a node: what is an event (trail.py), and how it gets to the topic and the file (writer.py)."""
