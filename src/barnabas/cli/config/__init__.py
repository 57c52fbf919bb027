"""`barnabas config`."""
