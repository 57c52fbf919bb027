"""`barnabas secure`: certificates for a cluster, and what `barnabas up --secure` makes at its first start."""
