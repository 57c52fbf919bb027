"""A leader takes batches of a transaction without asking its coordinator (KIP-890 in reverse)."""

from barnabas.broker.api import produce
from barnabas.sim.bugs.base import Bug


def _make(right: object) -> object:
    return lambda node, session, frame, request, version: None


BUG = Bug("unverified-batches", "batches of a transaction are taken unasked", produce, "new_to_transaction", _make)
