"""A DuckDB file as a warehouse: a sink."""
