"""`barnabas grep`."""
