"""Searching a whole topic: what is looked for, how batches are looked through, the process that does it."""
