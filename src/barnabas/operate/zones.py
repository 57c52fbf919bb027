"""A cluster by zones (`broker.rack`): what each holds, what its loss would cost, which replicas share one needlessly.

The loss of a zone is thought through on the state of now: its nodes are gone, whoever is in sync elsewhere leads.

| of a partition                                        | what that means                                              |
|-------------------------------------------------------|--------------------------------------------------------------|
| no replica elsewhere                                  | its records are gone until the zone is back                  |
| no replica elsewhere that is in sync                  | nobody may lead it: neither read nor written                 |
| fewer in sync than `min.insync.replicas` asks for     | it can be read; producers with acks=all are refused          |
| ... or in fewer zones than `min.insync.zones`         | the same                                                     |

The quorum is kept when more than half of its voters stand elsewhere and are up. A node without a zone is lost with
none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from barnabas.model.zones import span, too_few
from barnabas.operate.placement.nouns import Broker, Partition

_NAMED_MAX = 20  # partitions of a list: enough to look at


@dataclass(frozen=True, slots=True)
class Needs:
    """What a topic's settings ask for before a write with acks=all is answered."""

    replicas: int = 1  # min.insync.replicas
    zones: int = 1  # min.insync.zones


@dataclass(frozen=True, slots=True)
class Loss:
    """What the loss of a zone would cost."""

    quorum_kept: bool
    without_data: int = 0  # partitions that have no replica elsewhere
    without_leader: int = 0  # those, and others of which nobody elsewhere is in sync
    refuses_writes: int = 0  # led, but acks=all is refused
    partitions: list[str] = field(default_factory=list)  # the first of all these


@dataclass(frozen=True, slots=True)
class Zone:
    name: str
    nodes: list[int]
    up: int
    voters: int
    leads: int
    replicas: int
    if_lost: Loss


def zones(
    brokers: Sequence[Broker], partitions: Sequence[Partition], voters: Sequence[int], needs: Mapping[str, Needs]
) -> list[Zone]:
    """Of a cluster whose nodes name one; `needs` by topic."""
    zone_of = {each.id: each.rack for each in brokers}
    found = []
    for name in sorted({each.rack for each in brokers if each.rack}):
        here = [each for each in brokers if each.rack == name]
        nodes = [each.id for each in here]
        found.append(
            Zone(
                name,
                nodes,
                up=sum(each.up for each in here),
                voters=sum(each in voters for each in nodes),
                leads=sum(each.leads for each in here),
                replicas=sum(each.replicas for each in here),
                if_lost=_loss(frozenset(nodes), brokers, partitions, voters, needs, zone_of),
            )
        )
    return found


def _loss(
    lost: frozenset[int],
    brokers: Iterable[Broker],
    partitions: Iterable[Partition],
    voters: Sequence[int],
    needs: Mapping[str, Needs],
    zone_of: Mapping[int, str | None],
) -> Loss:
    up = {each.id for each in brokers if each.up and each.id not in lost}
    without_data = without_leader = refused = 0
    named: list[str] = []
    for each in partitions:
        need = needs.get(each.topic, Needs())
        rest = [node for node in each.isr if node in up]
        without_data += all(node in lost for node in each.replicas)
        if not rest:
            without_leader += 1
        elif len(rest) < min(need.replicas, len(each.replicas)) or too_few(rest, need.zones, zone_of.get):
            refused += 1
        else:
            continue
        if len(named) < _NAMED_MAX:
            named.append(each.name)
    kept = 2 * sum(each in up for each in voters) > len(voters)
    return Loss(kept, without_data, without_leader, refused, named)


def refusing_writes(
    brokers: Sequence[Broker], partitions: Iterable[Partition], needs: Mapping[str, Needs]
) -> list[Partition]:
    """Those that are led, and refuse acks=all now because too few zones are in sync for their `min.insync.zones`."""
    zone_of = {each.id: each.rack for each in brokers}
    return [
        each
        for each in partitions
        if each.leader >= 0 and too_few(each.isr, needs.get(each.topic, Needs()).zones, zone_of.get)
    ]


def sharing_a_zone(brokers: Sequence[Broker], partitions: Iterable[Partition]) -> list[Partition]:
    """Those of which two replicas are in one zone although another zone with a data node that is up has none."""
    zone_of = {each.id: each.rack for each in brokers}
    there = {each.rack for each in brokers if each.rack and each.port and each.up}
    return [
        each
        for each in partitions
        if all(zone_of.get(node) for node in each.replicas)
        and span(each.replicas, zone_of.get) < min(len(each.replicas), len(there | _of(each, zone_of)))
    ]


def _of(partition: Partition, zone_of: Mapping[int, str | None]) -> set[str | None]:
    return {zone_of[node] for node in partition.replicas}
