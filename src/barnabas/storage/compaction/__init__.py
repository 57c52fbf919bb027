"""Compaction of a log: the decision (cleaner.py), the work (cleaning.py) and the exchange of segments (swapping.py)."""
