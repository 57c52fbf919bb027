"""What is decoded of large requests is counted over all connections: who comes when there is no room waits, or is
refused where waiting would hold up everybody."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from barnabas.broker.network import large_requests
from barnabas.broker.network.context import RequestContext
from barnabas.broker.network.decoded_memory import WAIT_FOR_OTHERS, DecodedMemory
from barnabas.broker.network.session import Session
from barnabas.model.errors import KafkaError
from barnabas.model.limits import DECODED_ELEMENT_BYTES, LARGE_REQUEST_THREAD_BYTES
from barnabas.wire import apis
from barnabas.wire.codec import decode_counted, decode_request, encode_request

ELEMENTS = 10
EACH = 100 + ELEMENTS * DECODED_ELEMENT_BYTES


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(10):
            await test()

    asyncio.run(limited())


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def test_the_next_one_waits_for_room_and_who_came_first_goes_first() -> None:
    async def test() -> None:
        memory = DecodedMemory(2 * EACH)
        running: list[int] = []
        ends = [asyncio.Event() for _ in range(6)]

        async def request(number: int) -> None:
            await memory.room(apis.METADATA)
            with memory.held(apis.METADATA, 100, ELEMENTS):
                running.append(number)
                await ends[number].wait()
            running.remove(number)

        requests = [asyncio.ensure_future(request(number)) for number in range(6)]
        await turns()
        assert running == [0, 1] and memory.used_bytes == 2 * EACH
        ends[1].set()
        await turns()
        assert running == [0, 2]
        requests[3].cancel()  # its client is gone
        ends[0].set()
        await turns()
        assert running == [2, 4]
        for end in ends:
            end.set()
        await asyncio.wait(requests)
        assert memory.used_bytes == 0

    run(test)


def test_one_that_is_larger_than_the_limit_has_its_turn() -> None:
    async def test() -> None:
        memory = DecodedMemory(EACH)
        await memory.room(apis.METADATA)
        with memory.held(apis.METADATA, 100, 100 * ELEMENTS):
            waits = asyncio.ensure_future(memory.room(apis.METADATA))
            await turns()
            assert not waits.done()
        await waits

    run(test)


@pytest.mark.parametrize("api_key", WAIT_FOR_OTHERS)
def test_those_that_wait_for_others_are_refused_and_hold_nobody_up(api_key: int) -> None:
    async def test() -> None:
        memory = DecodedMemory(EACH, 2 * EACH)
        with memory.held(api_key, 100, ELEMENTS), memory.held(api_key, 100, ELEMENTS):
            await memory.room(api_key)
            await memory.room(apis.METADATA)
            with pytest.raises(KafkaError) as refused, memory.held(api_key, 100, ELEMENTS):
                pass
            assert refused.value.code is WAIT_FOR_OTHERS[api_key]
        with memory.held(api_key, 100, ELEMENTS):
            assert memory.waiting_bytes == EACH
        assert memory.waiting_bytes == 0

    run(test)


def test_really_large_ones_wait_for_room_before_they_are_decoded() -> None:
    context = RequestContext(apis.METADATA, 9, 1, "c", Session("10.0.0.9", "10.0.0.7", 9092))
    body = {"topics": [{"name": f"t{number:06}"} for number in range(20_000)]}
    frame = encode_request(apis.METADATA, 9, body)
    assert len(frame) > LARGE_REQUEST_THREAD_BYTES

    async def test() -> None:
        memory, held = DecodedMemory(1), 0

        async def request(threads: ThreadPoolExecutor) -> None:
            nonlocal held
            _, elements = await large_requests.decode(threads, frame, 0, context, memory)
            with memory.held(apis.METADATA, len(frame), elements):
                held += 1
                assert held == 1 and elements == 20_000
                await asyncio.sleep(0.01)
                held -= 1

        with ThreadPoolExecutor(4) as threads:
            await asyncio.gather(*(request(threads) for _ in range(4)))

    run(test)


@pytest.mark.parametrize("version", [1, 9, 12])
def test_the_elements_of_all_arrays_are_counted(version: int) -> None:
    body = {"topics": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}
    data = encode_request(apis.METADATA, version, body)
    request, elements = decode_counted(apis.METADATA, version, data)
    assert elements == 3 and request == decode_request(apis.METADATA, version, data)
    topics = [
        {"name": f"t{n}", "partitions": [{"partition_index": i, "timestamp": -1} for i in range(n)]} for n in (2, 5)
    ]
    data = encode_request(apis.LIST_OFFSETS, 6, {"replica_id": -1, "isolation_level": 0, "topics": topics})
    assert decode_counted(apis.LIST_OFFSETS, 6, data)[1] == 2 + 2 + 5
