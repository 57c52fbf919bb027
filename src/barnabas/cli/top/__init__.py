"""`barnabas top`."""
