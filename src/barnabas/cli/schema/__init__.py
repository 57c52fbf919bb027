"""`barnabas schema`."""
