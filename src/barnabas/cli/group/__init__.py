"""`barnabas group`."""
