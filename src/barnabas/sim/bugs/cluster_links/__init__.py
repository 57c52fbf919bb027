"""Mistakes of a link between clusters: what comes over, a promotion, a reverse."""

from barnabas.sim.bugs.cluster_links import (
    committed_before_followers,
    cut_not_kept,
    divergence_not_asked,
    epochs_not_above,
    groups_ahead,
    linked_topic_writable,
    out_of_range_to_end,
    producer_ids_overlap,
    promised_beyond_watermark,
    promotion_without_epoch,
    source_transactions_stay_open,
    start_not_followed,
    topic_known_by_name,
)

BUGS = (
    epochs_not_above.BUG,
    promotion_without_epoch.BUG,
    groups_ahead.BUG,
    divergence_not_asked.BUG,
    cut_not_kept.BUG,
    source_transactions_stay_open.BUG,
    producer_ids_overlap.BUG,
    topic_known_by_name.BUG,
    out_of_range_to_end.BUG,
    start_not_followed.BUG,
    linked_topic_writable.BUG,
    committed_before_followers.BUG,
    promised_beyond_watermark.BUG,
)
