"""`barnabas txn`."""
