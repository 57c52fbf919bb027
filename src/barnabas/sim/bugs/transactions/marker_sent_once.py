"""A transaction's marker for another node is sent once; when that fails, nobody sends it again."""

from collections.abc import Callable

from barnabas.broker.coordinator.markers import MarkerSender, _Sending
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition
from barnabas.sim.bugs.base import Bug


def _make(right: Callable[[MarkerSender, _Sending, TopicPartition, ErrorCode], None]) -> object:
    def outcome(self: MarkerSender, sending: _Sending, partition: TopicPartition, code: ErrorCode) -> None:
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
