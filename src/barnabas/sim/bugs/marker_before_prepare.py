"""Markers are written before the decision about the transaction is on disk."""

from typing import Any

from barnabas.broker.coordinators import Coordinators
from barnabas.broker.txn_driver import TxnDriver
from barnabas.sim.bugs.base import Bug


def _make(right: Any) -> Any:
    def drive(self: Any, hosted: Any, effects: Any) -> None:
        Coordinators.drive(self, hosted, effects)
        for sent in getattr(effects, "markers", ()):
            if self._hosted.get(hosted.partition.id.partition) is hosted:
                self._send(hosted, sent)

    return drive


BUG = Bug("marker-before-prepare", "markers leave before the decision is flushed", TxnDriver, "drive", _make)
