"""`barnabas produce`."""
