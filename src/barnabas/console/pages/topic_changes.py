"""Changes of topics: create, settings, more partitions, purge, delete."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING

import msgspec

from barnabas.console.clusters import reading
from barnabas.console.clusters.facts import Topic
from barnabas.console.clusters.settings import TOPIC, change_settings
from barnabas.console.pages.topics import known_topic
from barnabas.console.problems import Problem, refused
from barnabas.console.web.bodies import Int16, Int32, Int64
from barnabas.console.web.calls import Call, Route
from barnabas.wire.apis import CREATE_PARTITIONS, CREATE_TOPICS, DELETE_RECORDS, DELETE_TOPICS

if TYPE_CHECKING:
    from barnabas.wire.messages import (
        CreatePartitionsResponse,
        CreateTopicsResponse,
        DeleteRecordsResponse,
        DeleteTopicsResponse,
    )

_TIMEOUT_MS = 15_000
_BY_NAME = 5  # DeleteTopics up to this version takes names


class _New(msgspec.Struct):
    name: str
    partitions: Int32 = -1  # as the cluster has it
    replication_factor: Int16 = -1
    settings: dict[str, str] = {}


class _Settings(msgspec.Struct):
    changes: dict[str, str | None]


class _Grown(msgspec.Struct):
    partitions: Int32


class _Purged(msgspec.Struct):
    """Up to, but without, these offsets; without any: up to the end."""

    before: dict[str, Int64] = {}


async def create(call: Call) -> object:
    new = await call.body(_New)
    call.names.append(new.name)
    topic = {
        "name": new.name,
        "num_partitions": new.partitions,
        "replication_factor": new.replication_factor,
        "assignments": [],
        "configs": [{"name": name, "value": value} for name, value in new.settings.items()],
    }
    body = {"topics": [topic], "timeout_ms": _TIMEOUT_MS, "validate_only": False}
    answer: CreateTopicsResponse = await call.nodes.ask_any(CREATE_TOPICS, body)
    made = answer.topics[0]
    if made.error_code:
        raise refused(made.error_code, "the topic was not created", made.error_message)
    return {"name": made.name}


async def alter(call: Call) -> object:
    asked = await call.body(_Settings)
    call.names += asked.changes
    await change_settings(call.nodes, TOPIC, call.path("topic"), asked.changes)
    return {}


async def grow(call: Call) -> object:
    asked = await call.body(_Grown)
    topic = {"name": call.path("topic"), "count": asked.partitions, "assignments": None}
    call.names.append(f"to {asked.partitions}")
    body = {"topics": [topic], "timeout_ms": _TIMEOUT_MS, "validate_only": False}
    answer: CreatePartitionsResponse = await call.nodes.ask_any(CREATE_PARTITIONS, body)
    for each in answer.results:
        if each.error_code:
            raise refused(each.error_code, "no partitions were added", each.error_message)
    return {}


async def before_purge(call: Call) -> object:
    """What a purge would delete, by offsets of now: the purge itself names the same offsets."""
    topic = known_topic(call.facts, call.path("topic"))
    starts, ends = await _bounds(call, topic)
    return {
        "records": sum(max(0, end - starts.get(part, end)) for part, end in ends.items()),
        "before": {str(part): end for part, end in ends.items()},
    }


async def _bounds(call: Call, topic: Topic) -> tuple[dict[int, int], dict[int, int]]:
    starts, ends = await asyncio.gather(
        reading.read_offsets(call.nodes, [topic], reading.EARLIEST),
        reading.read_offsets(call.nodes, [topic], reading.LATEST),
    )
    return {part: at for (_, part), at in starts.items()}, {part: at for (_, part), at in ends.items()}


async def purge(call: Call) -> object:
    asked, topic = await call.body(_Purged), known_topic(call.facts, call.path("topic"))
    of_leader: dict[int, list[dict[str, int]]] = defaultdict(list)
    for each in topic.partitions:
        before = asked.before.get(str(each.index))
        if before is not None:
            if each.leader < 0:
                raise Problem(f"{topic.name}-{each.index} has no leader at the moment, nothing was purged", status=409)
            of_leader[each.leader].append({"partition_index": each.index, "offset": before})
    failed: list[int] = []

    async def ask(leader: int, partitions: list[dict[str, int]]) -> None:
        body = {"topics": [{"name": topic.name, "partitions": partitions}], "timeout_ms": _TIMEOUT_MS}
        answer: DeleteRecordsResponse = await call.nodes.ask(leader, DELETE_RECORDS, body)
        failed.extend(each.error_code for one in answer.topics for each in one.partitions if each.error_code)

    await asyncio.gather(*(ask(leader, partitions) for leader, partitions in of_leader.items()))
    if failed:
        raise refused(failed[0], f"{len(failed)} of {len(topic.partitions)} partitions were not purged")
    return {}


async def delete(call: Call) -> object:
    name = call.path("topic")
    version = await call.nodes.newest_version(None, DELETE_TOPICS)
    body: dict[str, object] = {"timeout_ms": _TIMEOUT_MS, "topic_names": [name]}
    if version > _BY_NAME:
        body["topics"] = [{"name": name, "topic_id": bytes(16)}]
    answer: DeleteTopicsResponse = await call.nodes.ask_any(DELETE_TOPICS, body)
    for each in answer.responses:
        if each.error_code:
            raise refused(each.error_code, "the topic was not deleted", each.error_message)
    return {}


ROUTES = [
    Route("POST", "/topics", create, change="create a topic"),
    Route("PATCH", "/topics/{topic}/settings", alter, change="change settings of a topic"),
    Route("POST", "/topics/{topic}/partitions", grow, change="add partitions"),
    Route("GET", "/topics/{topic}/purge", before_purge),
    Route("POST", "/topics/{topic}/purge", purge, change="purge a topic"),
    Route("DELETE", "/topics/{topic}", delete, change="delete a topic"),
]
