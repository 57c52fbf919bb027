"""Records become rows in PostgreSQL as they do in DuckDB."""

from tests.unit.connect.relational.test_rows import *  # noqa: F403  # tests
