"""A broker that lost power comes back as if it had only been restarted, and stays in sync with a cut log."""

from collections.abc import Callable

from msgspec.structs import replace

from barnabas.core.cluster.controller import Controller
from barnabas.core.cluster.items import Registration
from barnabas.core.cluster.records import Record
from barnabas.sim.bugs.base import Bug


def _make(right: Callable[[Controller, Registration, int], tuple[list[Record], int]]) -> object:
    def register_broker(self: Controller, wanted: Registration, now_ms: int) -> tuple[list[Record], int]:
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
