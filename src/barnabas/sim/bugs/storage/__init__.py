"""Mistakes in what is on disk: flushing, recovery, the index."""

from barnabas.sim.bugs.storage import (
    ack_before_flush,
    folder_not_flushed,
    fsync_skipped,
    index_trusted,
    recovered_not_flushed,
    recovery_point_too_far,
    torn_tail_served,
)

BUGS = (
    fsync_skipped.BUG,
    folder_not_flushed.BUG,
    recovered_not_flushed.BUG,
    recovery_point_too_far.BUG,
    torn_tail_served.BUG,
    index_trusted.BUG,
    ack_before_flush.BUG,
)
