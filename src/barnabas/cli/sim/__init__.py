"""`barnabas sim`."""
