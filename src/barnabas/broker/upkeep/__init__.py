"""Background work of a node: flushing, checkpoints, retention, compaction, verification, and watching the disk.

Every task takes one partition at a time (rounds.py), gives the loop back every few milliseconds, and a partition that
fails is named, backed off and counted without holding up the others (failures.py).
"""
