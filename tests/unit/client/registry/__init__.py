"""The library and a schema registry."""
