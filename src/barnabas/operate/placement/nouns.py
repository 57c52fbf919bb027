"""Nodes and partitions as a plan sees them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Partition:
    topic: str
    index: int
    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.index}"

    @property
    def under_replicated(self) -> bool:
        return len(self.isr) < len(self.replicas)


@dataclass(slots=True)
class Broker:
    id: int
    host: str
    port: int
    rack: str | None
    up: bool
    leads: int = 0
    replicas: int = 0
    preferred: int = 0  # partitions it should lead
    role: str = ""  # leader, voter or observer of the quorum
    behind: int | None = None  # records of the metadata log


def led_elsewhere(brokers: Iterable[Broker], partitions: Iterable[Partition]) -> list[Partition]:
    """Not led by their first replica though it is up and in sync: it was restarted, and leadership goes back by
    itself only after up to five minutes (leader.imbalance.check.interval.seconds)."""
    up = {each.id for each in brokers if each.up}
    return [
        each
        for each in partitions
        if each.leader >= 0 and each.leader != each.replicas[0] and each.replicas[0] in up & set(each.isr)
    ]
