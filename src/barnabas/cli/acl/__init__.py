"""`barnabas acl`."""
