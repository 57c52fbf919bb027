"""Mistakes in what a partition knows of its producers: ids and sequences."""

from barnabas.sim.bugs.producers import (
    producer_ids_reused,
    replay_forgotten,
    sequences_forgotten,
    sequences_lost_on_failover,
)

BUGS = (sequences_forgotten.BUG, replay_forgotten.BUG, sequences_lost_on_failover.BUG, producer_ids_reused.BUG)
