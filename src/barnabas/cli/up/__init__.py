"""`barnabas up`."""
