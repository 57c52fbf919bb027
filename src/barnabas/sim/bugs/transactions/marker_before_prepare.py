"""Markers are written before the decision about the transaction is on disk."""

from barnabas.broker.coordinator.driver import Coordinators
from barnabas.broker.coordinator.shard import CoordinatorShard
from barnabas.broker.coordinator.transactions import TxnDriver
from barnabas.core.txn.effects import Effects as TxnEffects
from barnabas.core.txn.shard import TxnShard
from barnabas.model.errors import ErrorCode
from barnabas.sim.bugs.base import Bug


def _make(right: object) -> object:
    def write(self: TxnDriver, hosted: CoordinatorShard[TxnShard], effects: TxnEffects) -> None:
        Coordinators.drive(self, hosted, effects)
        for sent in effects.markers:
            self._send(hosted, sent, ErrorCode.NONE)

    return write


BUG = Bug(
    "marker-before-prepare",
    "markers leave before the decision is flushed",
    TxnDriver,
    "_write",
    _make,
    scenario="unheard-ends",
)
