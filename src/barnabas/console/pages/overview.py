"""The first page: nodes, health, throughput, what is wrong now, the busiest topics, the groups furthest behind.

`/live` is the one stream that a tab has open: an event with each look at the cluster, after which the page asks again
for what it shows. `/history` has the samples of the last hour.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from barnabas.console.clusters.facts import Facts
from barnabas.console.clusters.history import SAMPLE_SECONDS
from barnabas.console.clusters.troubles import troubles
from barnabas.console.problems import Problem
from barnabas.console.web.calls import Call, Route
from barnabas.console.web.stream import Event, stream

_FIRST_LOOK_SECONDS = 5.0
_SHOWN = 8
_SERIES_MAX = 64


async def overview(call: Call) -> object:
    observer = call.connection.observer
    await observer.first_look(_FIRST_LOOK_SECONDS)
    facts = observer.facts
    partitions = [each for topic in facts.topics.values() for each in topic.partitions]
    busiest = sorted(
        ((observer.records_rate(name) or 0.0, name) for name, topic in facts.topics.items() if not topic.internal),
        reverse=True,
    )[:_SHOWN]
    behind = sorted(((facts.seconds(name) or 0.0, facts.lag(name) or 0, name) for name in facts.groups), reverse=True)[
        :_SHOWN
    ]
    return {
        "at": facts.at,
        "problem": facts.problem,
        "cluster_id": facts.cluster_id,
        "metrics": facts.metrics is not None,
        "nodes": [
            {"id": each.id, "host": each.host, "port": each.port, "rack": each.rack, "up": not each.fenced,
             "leads": sum(partition.leader == each.id for partition in partitions), **_measured(facts, each.id)}
            for each in facts.nodes.values()
        ],
        "topics": sum(not each.internal for each in facts.topics.values()),
        "partitions": len(partitions),
        "groups": len(facts.groups),
        "bytes": sum(facts.sizes.values()) if facts.folders else None,
        "troubles": [each._asdict() for each in troubles(facts)],
        "busiest": [{"name": name, "records_per_s": rate} for rate, name in busiest if rate],
        "behind": [{"name": name, "lag": lag, "seconds": seconds} for seconds, lag, name in behind if lag],
    }  # fmt: skip


def _measured(facts: Facts, node: int) -> dict[str, object]:
    """What the node tells of itself, where it serves metrics."""
    for each in facts.metrics.nodes if facts.metrics is not None else ():
        if each.node == node and each.up:
            return {
                "bytes_in": each.bytes_in,
                "bytes_out": each.bytes_out,
                "requests": each.requests,
                "p99_ms": each.p99_ms,
                "cpu_percent": each.cpu_percent,
                "memory_bytes": each.memory_bytes,
                "loop_stalls": each.loop_stalls,
                "connections": each.connections,
            }
    return {}


async def history(call: Call) -> object:
    names = call.texts("series")
    if len(names) > _SERIES_MAX:
        raise Problem(f"at most {_SERIES_MAX} series at once")
    return call.connection.observer.history.read(names, float(call.number("since", 0)))


async def live(call: Call) -> object:
    return stream(_looks(call))


async def _looks(call: Call) -> AsyncIterator[Event]:
    observer = call.connection.observer
    while True:
        facts = observer.facts
        yield Event("look", {"at": facts.at, "look": observer.looks, "problem": facts.problem})
        while not await observer.next_look(SAMPLE_SECONDS * 5):
            pass


ROUTES = [
    Route("GET", "/overview", overview),
    Route("GET", "/history", history),
    Route("GET", "/live", live),
]
