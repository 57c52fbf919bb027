"""A leader that hears of its successor tells those who wait that all is well."""

from typing import Any

from barnabas.broker.partition.partition import HostedPartition
from barnabas.model.errors import ErrorCode
from barnabas.sim.bugs.base import Bug


def _make(right: Any) -> Any:
    def send_away(self: Any, code: ErrorCode) -> None:
        right(self, ErrorCode.NONE)

    return send_away


BUG = Bug(
    "zombie-acknowledges", "a deposed leader acknowledges what waits", HostedPartition, "_send_away", _make, nodes=3
)
