"""`barnabas demo`."""
