"""`barnabas consume`."""
