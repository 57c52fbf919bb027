"""`barnabas audit`."""
