"""A client may write to a topic that a link fills."""

from collections.abc import Callable
from dataclasses import replace

from barnabas.broker.partition.config import PartitionConfig
from barnabas.sim.bugs.base import Bug


def _make(right: Callable[..., object]) -> object:
    def prepared(self: PartitionConfig, *args: object, **named: object) -> object:
        return right(replace(self, link=""), *args, **named)

    return prepared


BUG = Bug(
    "linked-topic-writable",
    "clients may write to a topic that a link fills",
    PartitionConfig,
    "prepared",
    _make,
    nodes=6,
    scenario="linked",
)
