"""Rows of any database that SQLAlchemy reads, by an increasing column, a timestamp, or all of them: a source."""
