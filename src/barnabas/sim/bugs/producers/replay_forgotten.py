"""At a start only the snapshot of the producers counts; the batches written after it are not replayed."""

from barnabas.core.partition.producers import Producers
from barnabas.sim.bugs.base import Bug


def _make(right: object) -> object:
    return lambda self, header, now_ms: None


BUG = Bug("replay-forgotten", "a duplicate is accepted after a restart", Producers, "replay", _make)
