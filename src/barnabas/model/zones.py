"""Zones: a broker stands in the zone that its `broker.rack` names; one without it is in no zone that is known.

What is promised (`min.insync.zones`): nothing is committed while the in-sync replicas are in fewer zones than that, so
an acknowledged record is in so many. Leader and controller decide it by this one function: who may lead later hangs on
what could be committed (KIP-966).

Where leaders should be (`leader.preferred.racks`): the replicas of a partition stand in the order of these racks, so
the first one, which is the preferred leader everywhere in Kafka, is in the best of them.
"""

from collections.abc import Callable, Iterable, Sequence

ZoneOf = Callable[[int], str | None]  # of a broker


def span(brokers: Iterable[int], zone_of: ZoneOf) -> int:
    """How many zones these brokers are in."""
    return len({zone for broker in brokers if (zone := zone_of(broker))})


def too_few(brokers: Iterable[int], min_zones: int, zone_of: ZoneOf) -> bool:
    """Are these in-sync replicas in too few zones for a commit? 1 zone is always enough: the setting is off."""
    return min_zones > 1 and span(brokers, zone_of) < min_zones


def rank(zone: str | None, preferred: Sequence[str]) -> int:
    """0 for the most preferred zone; zones that are not named come last, all alike."""
    return preferred.index(zone) if zone in preferred else len(preferred)


def in_order(replicas: tuple[int, ...], preferred: Sequence[str], zone_of: ZoneOf) -> tuple[int, ...]:
    """The replicas with those in preferred zones first, otherwise in the order they had."""
    if not preferred:
        return replicas
    return tuple(sorted(replicas, key=lambda broker: rank(zone_of(broker), preferred)))
