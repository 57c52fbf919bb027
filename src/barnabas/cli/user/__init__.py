"""`barnabas user`."""
