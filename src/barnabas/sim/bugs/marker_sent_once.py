"""A transaction's marker for another node is sent once; when that fails, nobody sends it again."""

from typing import Any

from barnabas.broker.coordinator.markers import MarkerSender
from barnabas.model.errors import ErrorCode
from barnabas.sim.bugs.base import Bug


def _make(right: Any) -> Any:
    def outcome(self: Any, sending: Any, partition: Any, code: ErrorCode) -> None:
        right(self, sending, partition, ErrorCode.NONE)

    return outcome


BUG = Bug(
    "marker-sent-once",
    "a marker that did not arrive is not resent",
    MarkerSender,
    "_outcome",
    _make,
    nodes=3,
    scenario="lost-markers",
)
