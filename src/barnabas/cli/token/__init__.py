"""`barnabas token`."""
