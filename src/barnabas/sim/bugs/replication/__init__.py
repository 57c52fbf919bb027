"""Mistakes between a leader and its followers: the high watermark, in-sync replicas, truncation."""

from barnabas.sim.bugs.replication import (
    ack_before_isr,
    ahead_kept,
    cut_to_watermark,
    follower_before_fsync,
    former_life_counts,
    isr_before_answer,
    joins_too_early,
    min_isr_ignored,
    never_cut,
    new_leader_commits_all,
    one_follower_is_enough,
    watermark_off_by_one,
    zombie_acknowledges,
    zones_ignored,
)

BUGS = (
    ack_before_isr.BUG,
    one_follower_is_enough.BUG,
    new_leader_commits_all.BUG,
    min_isr_ignored.BUG,
    zones_ignored.BUG,
    joins_too_early.BUG,
    isr_before_answer.BUG,
    former_life_counts.BUG,
    follower_before_fsync.BUG,
    cut_to_watermark.BUG,
    never_cut.BUG,
    zombie_acknowledges.BUG,
    watermark_off_by_one.BUG,
    ahead_kept.BUG,
)
