"""Requests that name many things: worked off in parts, answered as one, and what is named twice looked at once."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import pytest

from barnabas.broker.network import large_requests
from barnabas.broker.network.context import RequestContext
from barnabas.broker.network.decoded_memory import DecodedMemory
from barnabas.broker.network.session import Session
from barnabas.broker.replication.fetching import _FORGOTTEN_AT_ONCE, _NAMED_AT_ONCE
from barnabas.model.limits import LARGE_REQUEST_THREAD_BYTES, REQUEST_ELEMENTS_MAX
from barnabas.wire import apis
from barnabas.wire.codec import ProtocolError, decode_request, encode_request


def context(api_key: int, version: int) -> RequestContext:
    return RequestContext(api_key, version, 1, "c", Session("10.0.0.9", "10.0.0.7", 9092))


def worked_off(api_key: int, version: int, body: dict[str, Any], answer: Any) -> tuple[Any, list[Any], float]:
    """(the answer, the requests the handler saw, the longest time that nobody else had a turn)"""
    seen: list[Any] = []
    turns: list[float] = []

    async def called(request: Any) -> Any:
        seen.append(request)
        return answer(request)

    async def others() -> None:
        while True:
            turns.append(time.perf_counter())
            await asyncio.sleep(0)

    async def run() -> Any:
        beside = asyncio.ensure_future(others())
        await asyncio.sleep(0)
        request = decode_request(api_key, version, encode_request(api_key, version, body))
        found = await large_requests.handle(request, context(api_key, version), called)
        beside.cancel()
        return found

    found = asyncio.run(run())
    return found, seen, max((b - a for a, b in pairwise(turns)), default=0.0)


def test_many_are_answered_in_order_and_others_have_their_turn() -> None:
    names = [f"g{number}" for number in range(5000)]

    def answer(request: Any) -> dict[str, Any]:
        time.sleep(len(request.groups) * 50e-6)
        return {"throttle_time_ms": 0, "groups": [{"group_id": name} for name in request.groups]}

    found, seen, longest = worked_off(apis.DESCRIBE_GROUPS, 5, {"groups": names}, answer)
    assert [group["group_id"] for group in found["groups"]] == names
    assert len(seen) > 10
    assert longest < 0.15  # one call would have taken 0.25 s; the rest is the noise of a busy machine


def test_what_is_named_again_is_looked_at_once() -> None:
    found, seen, _ = worked_off(
        apis.FIND_COORDINATOR,
        6,
        {"key_type": 0, "coordinator_keys": ["a", "b"] * 5000},
        lambda request: {"coordinators": [{"key": key} for key in request.coordinator_keys]},
    )
    assert [request.coordinator_keys for request in seen] == [["a", "b"]]
    assert [c["key"] for c in found["coordinators"]] == ["a", "b"]


def test_partitions_of_a_topic_come_back_as_one_topic() -> None:
    def answer(request: Any) -> dict[str, Any]:
        return {
            "topics": [
                {"name": topic.name, "partitions": [{"partition_index": index} for index in topic.partition_indexes]}
                for topic in request.topics
            ]
        }

    topics = [{"name": f"t{number}", "partition_indexes": list(range(number * 7))} for number in range(100)]
    again = [{"name": "t99", "partition_indexes": list(range(30_000))}]
    found, _, _ = worked_off(apis.DESCRIBE_PRODUCERS, 0, {"topics": topics + again}, answer)
    assert [topic["name"] for topic in found["topics"]] == [f"t{number}" for number in range(100)]
    counts = [len(topic["partitions"]) for topic in found["topics"]]
    assert counts == [number * 7 for number in range(99)] + [30_000]
    assert found["topics"][99]["partitions"][-1] == {"partition_index": 29_999}


def test_a_request_that_is_wrong_as_a_whole_is_not_taken_apart() -> None:
    resources = [{"resource_type": 2, "resource_name": "t", "configs": []}] * 500
    _, seen, _ = worked_off(
        apis.INCREMENTAL_ALTER_CONFIGS, 1, {"resources": resources, "validate_only": False}, lambda _: {"responses": []}
    )
    assert [len(request.resources) for request in seen] == [500]


def test_a_request_may_not_have_more_elements_than_its_limit() -> None:
    body = encode_request(apis.DESCRIBE_GROUPS, 5, {"groups": ["g"] * (REQUEST_ELEMENTS_MAX + 1)})
    with pytest.raises(ProtocolError):
        decode_request(apis.DESCRIBE_GROUPS, 5, body)


def test_one_large_request_is_decoded_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several threads of Python code would hold the loop up, each for as long as the other."""
    running, most = 0, 0

    def decode(*_: object) -> tuple[str, int]:
        nonlocal running, most
        running += 1
        most = max(most, running)
        time.sleep(0.01)
        running -= 1
        return "decoded", 1

    async def run() -> list[Any]:
        with ThreadPoolExecutor(4) as threads:
            frame = bytes(LARGE_REQUEST_THREAD_BYTES)
            memory = DecodedMemory(1 << 30)
            asked = [large_requests.decode(threads, frame, 0, context(apis.METADATA, 9), memory) for _ in range(8)]
            return await asyncio.gather(*asked)

    monkeypatch.setattr(large_requests, "decode_counted", decode)
    assert asyncio.run(run()) == [("decoded", 1)] * 8
    assert most == 1


@pytest.mark.parametrize(
    ("api_key", "version", "body"),
    [
        (apis.METADATA, 9, {"topics": [{"name": f"t{i}"} for i in range(100_000)], "allow_auto_topic_creation": False}),
        (
            apis.OFFSET_FETCH,
            7,
            {
                "group_id": "g",
                "topics": [{"name": f"t{i}", "partition_indexes": list(range(100))} for i in range(1_000)],
                "require_stable": False,
            },
        ),
        (
            apis.FETCH,
            12,
            {
                "replica_id": 2,
                "max_wait_ms": 500,
                "min_bytes": 1,
                "topics": [
                    {"topic": f"t{i}", "partitions": [{"fetch_offset": 0, "partition_max_bytes": 1, "partition": 0}]}
                    for i in range(_NAMED_AT_ONCE)
                ],
                "forgotten_topics_data": [{"topic": f"f{i}", "partitions": [0]} for i in range(_FORGOTTEN_AT_ONCE)],
            },
        ),
    ],
    ids=["Metadata", "OffsetFetch", "Fetch of a follower"],
)
def test_what_a_full_node_needs_is_within_the_limit(api_key: int, version: int, body: dict[str, Any]) -> None:
    decode_request(api_key, version, encode_request(api_key, version, body))
