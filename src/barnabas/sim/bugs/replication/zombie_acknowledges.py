"""A leader that hears of its successor tells those who wait that all is well."""

from collections.abc import Callable

from barnabas.broker.partition.partition import HostedPartition
from barnabas.model.errors import ErrorCode
from barnabas.sim.bugs.base import Bug


def _make(right: Callable[[HostedPartition, ErrorCode], None]) -> object:
    def refuse_waiting(self: HostedPartition, code: ErrorCode) -> None:
        right(self, ErrorCode.NONE)

    return refuse_waiting


BUG = Bug(
    "zombie-acknowledges",
    "a deposed leader acknowledges what waits",
    HostedPartition,
    "_refuse_waiting",
    _make,
    nodes=3,
)
