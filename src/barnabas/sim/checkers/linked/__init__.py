"""What a link promises (docs/clusters.md), a file each; `pair` is what is known of the two clusters.

| | promise | file |
|---|---|---|
| L1 | nothing is missing below what a promotion said, and nothing is there twice | `l1_nothing_missing.py` |
| L2 | the same leader epoch and offset are the same bytes, in both clusters, at all times | `l2_same_bytes.py` |
| L3 | once a link has caught up, both logs are equal byte for byte | `l3_equal.py` |
| L4 | the offset of a group is never beyond what has come over | `l4_groups.py` |
| L5 | read_committed shows nothing of an aborted or open transaction | `l5_transactions.py` |
| L6 | clients cannot write to a topic that a link fills | `workloads/linked/producers.py`, which tries |
| L7 | what a reverse cuts off is kept | `l7_cut_is_kept.py` |
"""
