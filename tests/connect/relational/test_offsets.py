"""Offsets are kept in PostgreSQL as they are in DuckDB."""

from tests.unit.connect.relational.test_offsets import *  # noqa: F403  # tests
