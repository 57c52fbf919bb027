"""Tables of PostgreSQL as a sink needs them: connections, the catalog and changes to it, rows by COPY."""
