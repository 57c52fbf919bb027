"""Requests that name many things are worked off in parts, so that the others need not wait for all of it.

A frame above LARGE_REQUEST_BYTES is decoded in a thread when it is really large. Where the request is a list of things
that have nothing to do with each other (PARTS), the handler is called with some of them at a time, as many as take
about PART_SECONDS, and the loop serves others in between; the answer is put together as if there had been one call.
What is named twice is looked at once: in Kafka's own clients such a list is a map. A large answer is encoded in a
thread.

A request between two parts may change what the second one sees, as it may between two requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Executor
from functools import partial
from typing import NamedTuple, TypeVar, cast
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct

from barnabas.broker import clock
from barnabas.broker.network.context import RequestContext
from barnabas.broker.network.decoded_memory import DecodedMemory
from barnabas.broker.network.loop_budget import LoopBudget
from barnabas.model.limits import LARGE_REQUEST_THREAD_BYTES
from barnabas.wire import apis
from barnabas.wire.codec import Decoded, decode_counted, encode_response

Body = Mapping[str, object] | bytes
"""What a handler answers: a dict to encode, or bytes already encoded."""

Item = dict[str, list[object]]  # of an answer: only its array of inner answers matters here
_PART_SECONDS = 0.01  # a fifth of what one callback may take
_FIRST_ITEMS = 64  # of the first part, when nobody knows yet what an item costs
_ITEMS_MAX = 1_024  # of one part: in the simulator time stands still while a handler runs
_INNER_ITEMS = 256  # partitions of one topic that are looked at together
_THREAD_ITEMS = 2_000  # an answer with more is encoded in a thread
_locks: WeakKeyDictionary[Executor, asyncio.Lock] = WeakKeyDictionary()  # of each node in the process

Done = TypeVar("Done")
Piece = tuple[Struct, bool]  # an item of a request; does it go on with the one before?


class Parts(NamedTuple):
    """How an API's request is taken apart, and its answer put together."""

    items: str  # the array of the request
    answers: str  # the array of the answer: one for each item, in the same order
    key: tuple[str, ...] = ()  # the fields that name an item; none: the item itself
    inner: str = ""  # an array in each item that is taken apart too: the partitions of a topic
    inner_answers: str = ""
    inner_key: str = ""  # the field that names an inner item; none: the inner item itself
    only_unique: bool = False  # twice the same is an error of the request, which the handler tells


_RESOURCE = ("resource_type", "resource_name")
PARTS: dict[int, Parts] = {
    apis.LIST_OFFSETS: Parts("topics", "topics", only_unique=True, key=("name",)),
    apis.OFFSET_FETCH: Parts("groups", "groups", ("group_id", "member_id", "member_epoch"), only_unique=True),
    apis.DELETE_TOPICS: Parts("topics", "responses", ("name", "topic_id"), only_unique=True),
    apis.FIND_COORDINATOR: Parts("coordinator_keys", "coordinators"),
    apis.DESCRIBE_GROUPS: Parts("groups", "groups"),
    apis.CONSUMER_GROUP_DESCRIBE: Parts("group_ids", "groups"),
    apis.DELETE_GROUPS: Parts("groups_names", "results"),
    apis.DESCRIBE_TRANSACTIONS: Parts("transactional_ids", "transaction_states"),
    apis.DELETE_RECORDS: Parts("topics", "topics", ("name",), "partitions", "partitions", "partition_index"),
    apis.OFFSET_FOR_LEADER_EPOCH: Parts("topics", "topics", ("topic",), "partitions", "partitions", "partition"),
    apis.DESCRIBE_PRODUCERS: Parts("topics", "topics", ("name",), "partition_indexes", "partitions"),
    apis.ALTER_CONFIGS: Parts("resources", "responses", _RESOURCE, only_unique=True),
    apis.INCREMENTAL_ALTER_CONFIGS: Parts("resources", "responses", _RESOURCE, only_unique=True),
}  # fmt: skip


async def decode(
    threads: Executor, frame: bytes, position: int, context: RequestContext, memory: DecodedMemory
) -> tuple[Decoded, int]:
    """When there is room for it, which the caller has then to count at once (`memory.held`); and how many elements its
    arrays have."""
    work = partial(decode_counted, context.api_key, context.api_version, frame, position)
    if len(frame) < LARGE_REQUEST_THREAD_BYTES:
        await memory.room(context.api_key)
        return work()
    async with memory.decoding:
        await memory.room(context.api_key)
        return await _one_at_a_time(threads, work)


async def handle(request: Struct, context: RequestContext, answer: Callable[[Struct], Awaitable[Body]]) -> Body:
    """The body of the answer, from as many calls of `answer` as it takes."""
    parts = PARTS.get(context.api_key)
    items = await _taken_apart(request, parts) if parts is not None else None
    if parts is None or items is None:
        return await answer(request)
    whole: Mapping[str, object] = {}
    found: list[Item] = []
    done, count = 0, _FIRST_ITEMS
    while done < len(items):
        some = items[done : done + count]
        began = clock.source.monotonic()
        body = await answer(msgspec.structs.replace(request, **{parts.items: [item for item, _ in some]}))
        if isinstance(body, bytes):
            return body  # a handler that encodes its answer itself, and did so for all
        _join(found, cast("list[Item]", body[parts.answers]), some, parts)  # PARTS says that it is one
        whole = whole or body
        taken = clock.source.monotonic() - began
        done += len(some)
        count = max(1, min(int(len(some) * _PART_SECONDS / max(taken, 1e-6)), count * 4, _ITEMS_MAX))
        await asyncio.sleep(0)
    return {**whole, parts.answers: found}


async def encode(threads: Executor, body: Body, context: RequestContext, request_bytes: int = 0) -> bytes:
    """In a thread when it is much: many items, or an answer to a request that was large."""
    if isinstance(body, bytes):
        return body
    if request_bytes < LARGE_REQUEST_THREAD_BYTES and not is_large(body):
        return encode_response(context.api_key, context.api_version, body)
    return await _one_at_a_time(threads, partial(encode_response, context.api_key, context.api_version, body))


async def _one_at_a_time(threads: Executor, work: Callable[[], Done]) -> Done:
    """Python code in several threads would take the interpreter from the loop for as many turns, and what is decoded
    takes fifty times its bytes: the next request waits until this one has been read."""
    lock = _locks.get(threads)
    if lock is None:
        lock = _locks[threads] = asyncio.Lock()
    async with lock:
        return await asyncio.get_running_loop().run_in_executor(threads, work)


def is_large(body: Body) -> bool:
    """Has the answer so many items, or items of items (the members of a group), that encoding it takes long?"""
    if isinstance(body, bytes):
        return False
    lists = [value for value in body.values() if type(value) is list]
    many = sum(map(len, lists))
    if many > _THREAD_ITEMS:
        return True
    for items in lists:
        if items and type(items[0]) is dict:
            inner = [name for name, value in items[0].items() if type(value) is list]
            many += sum(len(item.get(name, ())) for name in inner for item in items)
    return many > _THREAD_ITEMS


async def _taken_apart(request: Struct, parts: Parts) -> list[Piece] | None:
    """The items, each once; with inner items, pieces of an item: (piece, does it go on with the one before)."""
    items: list[Struct] = getattr(request, parts.items)
    if not items:
        return None
    if parts.inner:
        return await _pieces(items, parts)
    by_key: dict[object, Struct] = {}
    budget = LoopBudget()
    for item in items:
        by_key[_key(item, parts.key)] = item
        await budget.pause()
    if len(by_key) == len(items):
        return [(item, False) for item in items]
    return None if parts.only_unique else [(item, False) for item in by_key.values()]


async def _pieces(items: list[Struct], parts: Parts) -> list[Piece]:
    merged: dict[object, tuple[Struct, dict[object, object]]] = {}
    budget = LoopBudget()
    for item in items:
        _, inner = merged.setdefault(_key(item, parts.key), (item, {}))
        for each in getattr(item, parts.inner):
            inner[getattr(each, parts.inner_key) if parts.inner_key else each] = each
        await budget.pause()
    pieces: list[Piece] = []
    for item, by_key in merged.values():
        await budget.pause()
        if len(by_key) == len(getattr(item, parts.inner)) <= _INNER_ITEMS:
            pieces.append((item, False))
            continue
        inner_items = list(by_key.values())
        for at in range(0, max(len(inner_items), 1), _INNER_ITEMS):
            piece = msgspec.structs.replace(item, **{parts.inner: inner_items[at : at + _INNER_ITEMS]})
            pieces.append((piece, at > 0))
    return pieces


def _key(item: object, fields: tuple[str, ...]) -> object:
    if not fields:
        return item
    values = (getattr(item, field) for field in fields)
    return tuple(tuple(value) if isinstance(value, list) else value for value in values)


def _join(found: list[Item], answers: list[Item], asked: list[Piece], parts: Parts) -> None:
    """Behind what was found so far; the answer for a piece that goes on joins the one before it."""
    if not parts.inner or len(answers) != len(asked):
        found.extend(answers)
        return
    for answer, (_, goes_on) in zip(answers, asked, strict=True):
        if goes_on and found:
            found[-1][parts.inner_answers].extend(answer[parts.inner_answers])
        else:
            found.append(answer)
