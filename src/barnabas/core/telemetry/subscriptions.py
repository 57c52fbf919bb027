"""Subscriptions of client metrics, as the metadata has them, and what a client is to push by all that fit it.

A client pushes the union of the metrics of the subscriptions that fit it, by the shortest of their intervals; `*` is
every metric. Its subscription id is a checksum of both and of the client's instance id, so each node gives the same one
without asking another. (With several metrics it differs from the id that Kafka's nodes give: theirs hangs on the order
of a hash table in Java.)
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from barnabas.core.telemetry.selectors import Match, parse_match
from barnabas.model.errors import KafkaError
from barnabas.model.settings import METRICS_SETTINGS, ResourceType, parse_value
from barnabas.wire.checksum import crc32c

EVERYTHING = "*"
INTERVAL_MS, METRICS, MATCH = "interval.ms", "metrics", "match"
DEFAULT_INTERVAL_MS = 300_000


class Subscription(NamedTuple):
    metrics: tuple[str, ...]
    interval_ms: int
    match: Match


class Subscribed(NamedTuple):
    """What one client is to push."""

    metrics: tuple[str, ...]
    interval_ms: int
    subscription_id: int


def subscriptions(configs: Mapping[tuple[int, str], Mapping[str, str]]) -> list[Subscription]:
    """Those of a metadata image, by name. One that cannot be read (a pattern of Java's, in the metadata of a Kafka
    cluster) fits no client."""
    names = sorted(name for kind, name in configs if kind == ResourceType.CLIENT_METRICS)
    found = (_subscription(configs[ResourceType.CLIENT_METRICS, name]) for name in names)
    return [subscription for subscription in found if subscription is not None]


def _subscription(configs: Mapping[str, str]) -> Subscription | None:
    def items(name: str) -> tuple[str, ...]:
        value = parse_value(METRICS_SETTINGS[name], configs.get(name, ""))
        return value if isinstance(value, tuple) else ()

    try:
        interval = parse_value(METRICS_SETTINGS[INTERVAL_MS], configs.get(INTERVAL_MS, str(DEFAULT_INTERVAL_MS)))
        return Subscription(items(METRICS), int(str(interval)), parse_match(items(MATCH)))
    except KafkaError:
        return None


def subscribed(fitting: Iterable[Subscription], instance_id: bytes) -> Subscribed:
    """`fitting`: those that fit the client."""
    metrics: set[str] = set()
    interval_ms = DEFAULT_INTERVAL_MS
    for subscription in fitting:
        metrics.update(subscription.metrics)
        interval_ms = min(interval_ms, subscription.interval_ms)
    names = (EVERYTHING,) if EVERYTHING in metrics else tuple(sorted(metrics))
    return Subscribed(names, interval_ms, _subscription_id(names, interval_ms, instance_id))


def _subscription_id(metrics: tuple[str, ...], interval_ms: int, instance_id: bytes) -> int:
    checksum = crc32c(f"[{', '.join(metrics)}]{interval_ms}".encode())
    high, low = int.from_bytes(instance_id[:8], "big"), int.from_bytes(instance_id[8:], "big")
    folded = high ^ low
    number = checksum ^ (folded >> 32) ^ (folded & 0xFFFFFFFF)
    return number - (1 << 32) if number >> 31 else number
