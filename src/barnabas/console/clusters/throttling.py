"""Which rule of a quota makes clients wait, by what nodes say in two scrapes of their metrics."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from barnabas.observe.overview import Scrape

_TIMES, _SECONDS = "barnabas_throttled_total", "barnabas_throttled_seconds_total"


class Throttled(NamedTuple):
    quota: str
    rule: str
    per_second: float  # answers, between the two scrapes
    times: int  # since the nodes were started
    seconds: float


def throttled_between(before: Scrape, after: Scrape) -> list[Throttled]:
    """Over all nodes, those that wait now first."""
    elapsed = max(after.at - before.at, 0.001)
    times: dict[tuple[str, str], float] = defaultdict(float)
    seconds: dict[tuple[str, str], float] = defaultdict(float)
    news: dict[tuple[str, str], float] = defaultdict(float)
    for node, metrics in after.metrics.items():
        earlier = before.metrics.get(node)
        known = {} if earlier is None else {_key(labels): value for labels, value in earlier.rows(_TIMES)}
        for labels, value in metrics.rows(_TIMES):
            key = _key(labels)
            times[key] += value
            if earlier is not None:
                news[key] += max(0.0, value - known.get(key, 0.0))  # a node that was restarted counts from 0
        for labels, value in metrics.rows(_SECONDS):
            seconds[_key(labels)] += value
    found = [Throttled(*key, round(news[key] / elapsed, 2), int(times[key]), round(seconds[key], 1)) for key in times]
    return sorted(found, key=lambda each: (-each.per_second, -each.times, each.rule))


def _key(labels: dict[str, str]) -> tuple[str, str]:
    return labels.get("quota", ""), labels.get("rule", "")
