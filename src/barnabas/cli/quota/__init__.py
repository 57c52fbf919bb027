"""`barnabas quota`."""
