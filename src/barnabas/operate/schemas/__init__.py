"""What changed between two versions of a schema, in words."""
