"""Other clusters: the links that fill topics here, with pause and resume; the mirrors that topics tell of."""

from __future__ import annotations

import time
from collections.abc import Mapping

from barnabas.console.clusters.cluster_links import LINK, Links, Rate, read_link_settings, read_links
from barnabas.console.clusters.mirrors import Mirror, mirrors_of, read_newest
from barnabas.console.clusters.settings import change_settings
from barnabas.console.problems import NotFound, Problem
from barnabas.console.web.calls import Call, Route
from barnabas.operate.cluster_links import PAUSED, Progress, seconds_behind

_FIRST_LOOK_SECONDS = 5.0
_PARTITIONS_MAX = 2_000
_TOPICS_MAX = 1_000


async def list_links(call: Call) -> object:
    found = await _read(call)
    if found.cannot or found.refused:
        return {"links": [], "silent": [], "cannot": found.cannot, "refused": found.refused}
    settings = await read_link_settings(call.nodes, found.links)
    rates = call.connection.link_rates.looked(found.links, time.monotonic())
    rows = [_row(each, settings.get(each.name, {}), rates[each.name]) for each in found.links.values()]
    return {"links": rows, "silent": found.silent, "cannot": False, "refused": ""}


async def one_link(call: Call) -> object:
    """With its partitions, those that are furthest behind first."""
    found = await _read(call)
    if found.refused:
        raise Problem(f"links are not shown: {found.refused}", status=403)
    progress = _known(found, call.path("link"))
    settings = await read_link_settings(call.nodes, [progress.name])
    rates = call.connection.link_rates.looked(found.links, time.monotonic())
    parts = sorted(progress.partitions, key=lambda each: (not each.error_message, -progress.lag(each)))
    now_ms = time.time() * 1000
    return {
        **_row(progress, settings.get(progress.name, {}), rates[progress.name]),
        "silent": found.silent,
        "left_out": max(0, len(parts) - _PARTITIONS_MAX),
        "list": [
            {
                "topic": each.topic,
                "partition": each.partition_index,
                "end": each.end_offset,
                "source_end": each.source_end_offset if each.source_end_offset >= 0 else None,
                "lag": progress.lag(each) if each.source_end_offset >= 0 else None,
                "seconds": seconds_behind(each, now_ms),
                "skipped": each.records_skipped,
                "unreached_ms": progress.unreached_ms.get((each.topic, each.partition_index)),
                "error": each.error_message,
            }
            for each in parts[:_PARTITIONS_MAX]
        ],
    }


async def _read(call: Call) -> Links:
    await call.connection.observer.first_look(_FIRST_LOOK_SECONDS)
    up = [each.id for each in call.facts.nodes.values() if not each.fenced]
    found = await read_links(call.nodes, up)
    if up and len(found.silent) == len(up):
        raise Problem("no node tells of its links now", "Nodes that have just started do in a moment.", 503)
    return found


def _known(found: Links, name: str) -> Progress:
    progress = found.links.get(name)
    if progress is None:
        raise NotFound(f"there is no link {name!r}")
    return progress


def _row(found: Progress, settings: Mapping[str, str], rate: Rate | None) -> dict[str, object]:
    now_ms = time.time() * 1000
    ages = [seconds_behind(each, now_ms) for each in found.partitions]
    known = [each for each in ages if each is not None]
    paused = PAUSED in found.errors or settings.get("paused") == "true"
    limit = settings.get("max.bytes.per.second", "0")
    return {
        "name": found.name,
        "source": settings.get("bootstrap.servers"),  # None: the person may not see it
        "wanted": settings.get("topics"),
        "limit": int(limit) if limit.isdecimal() else 0,
        "paused": paused,
        "topics": len(found.topics),
        "partitions": len(found.partitions),
        "lag": found.total_lag if found.is_known and not paused else None,
        "seconds": max(known) if known and len(known) == len(ages) else None,
        "records_rate": None if rate is None or paused else rate.records,
        "bytes_rate": None if rate is None or paused else rate.bytes,
        "unreached_ms": found.unreached_since_ms if found.unreached_since_ms >= 0 else None,
        "synced_ms": found.synced_ms,
        "errors": [each for each in found.errors if each != PAUSED],
        "wrong": sum(bool(each.error_message) for each in found.partitions),
        "promoted": found.promoted[:_TOPICS_MAX],
        "users": found.users if found.users >= 0 else None,
        "own_users": len(found.own_users),
    }


async def pause(call: Call) -> object:
    return await _set_paused(call, "true")


async def resume(call: Call) -> object:
    return await _set_paused(call, None)


async def _set_paused(call: Call, value: str | None) -> object:
    found = await _read(call)
    if found.refused:
        raise Problem(f"the link was not changed: {found.refused}", status=403)
    name = _known(found, call.path("link")).name  # the cluster would take a setting back of a link that is not there
    await change_settings(call.nodes, LINK, name, {"paused": value})
    return {}


async def list_mirrors(call: Call) -> object:
    await call.connection.observer.first_look(_FIRST_LOOK_SECONDS)
    topics = call.facts.topics
    found = mirrors_of(topics)
    told = {name for each in found for name in (each.heartbeats, each.checkpoints) if name}
    newest = await read_newest(call.nodes, [topics[name] for name in sorted(told)])
    return {"mirrors": [_mirror(each, newest) for each in found]}


def _mirror(each: Mirror, newest: Mapping[str, int]) -> dict[str, object]:
    return {
        "other": each.other,
        "incoming": each.incoming,
        "topics": each.topics if each.incoming else None,
        "heartbeat_ms": newest.get(each.heartbeats),
        "checkpoint_ms": newest.get(each.checkpoints),
    }


ROUTES = [
    Route("GET", "/links", list_links),
    Route("GET", "/links/{link}", one_link),
    Route("POST", "/links/{link}/pause", pause, change="pause a link"),
    Route("POST", "/links/{link}/resume", resume, change="resume a link"),
    Route("GET", "/mirrors", list_mirrors),
]
