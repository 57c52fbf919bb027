"""`barnabas console`."""
