"""Lines of files that grow and rotate, journald, and syslog."""
