"""Mistakes in transactions: verification, markers, time-outs, what read_committed is served."""

from barnabas.sim.bugs.transactions import (
    abort_marker_missing,
    committed_to_watermark,
    earlier_marker_ends,
    marker_before_prepare,
    marker_sent_once,
    timeout_by_clock,
    unverified_batches,
)

BUGS = (
    unverified_batches.BUG,
    committed_to_watermark.BUG,
    abort_marker_missing.BUG,
    marker_before_prepare.BUG,
    marker_sent_once.BUG,
    earlier_marker_ends.BUG,
    timeout_by_clock.BUG,
)
