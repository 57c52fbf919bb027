"""`barnabas.copy`: consume, transform, produce, exactly once."""
