"""Mistakes in groups: their coordinator, their offsets."""

from barnabas.sim.bugs.groups import aborted_offsets_count, coordinator_stays

BUGS = (aborted_offsets_count.BUG, coordinator_stays.BUG)
