"""A broker that lost power comes back as if it had only been restarted, and stays in sync with a cut log."""

from typing import Any

from msgspec.structs import replace

from barnabas.core.cluster.controller import Controller
from barnabas.sim.bugs.base import Bug


def _make(right: Any) -> Any:
    def register_broker(self: Any, wanted: Any, now_ms: int) -> Any:
        return right(self, replace(wanted, clean=True), now_ms)

    return register_broker


BUG = Bug(
    "power-loss-unnoticed",
    "who lost power stays in sync",
    Controller,
    "register_broker",
    _make,
    nodes=3,
    scenario="cut-logs",
)
