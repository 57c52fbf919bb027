"""`barnabas registry`."""
