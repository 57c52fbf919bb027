"""The controller takes in-sync replicas from a leader whose epoch is over."""

from collections.abc import Callable
from typing import ParamSpec

from barnabas.core.cluster.partitions import alterations
from barnabas.model.errors import ErrorCode
from barnabas.sim.bugs.base import Bug

_STALE = (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_UPDATE_VERSION)
P = ParamSpec("P")


def _make(right: Callable[P, ErrorCode]) -> object:
    def check(*args: P.args, **kwargs: P.kwargs) -> ErrorCode:
        code = right(*args, **kwargs)
        return ErrorCode.NONE if code in _STALE else code

    return check


BUG = Bug(
    "stale-leader-obeyed",
    "the controller obeys a leader of an old epoch",
    alterations,
    "_check",
    _make,
    nodes=3,
    scenario="late-requests",
)
