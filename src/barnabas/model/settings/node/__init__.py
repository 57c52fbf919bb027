"""The settings of a node, a table a topic."""
