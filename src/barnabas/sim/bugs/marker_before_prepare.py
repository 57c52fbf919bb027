"""Markers are written before the decision about the transaction is on disk."""

from typing import Any

from barnabas.broker.coordinator.driver import Coordinators
from barnabas.broker.coordinator.transactions import TxnDriver
from barnabas.model.errors import ErrorCode
from barnabas.sim.bugs.base import Bug


def _make(right: Any) -> Any:
    def write(self: Any, hosted: Any, effects: Any) -> None:
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
