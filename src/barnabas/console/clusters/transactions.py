"""What coordinators and partitions know of transactions, asked now; what it means says link/transactions.py."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.console.clusters.facts import Facts, TopicPartition
from barnabas.console.clusters.reading import of_all
from barnabas.link import transactions
from barnabas.link.async_nodes import AsyncNodes
from barnabas.link.errors import UnknownApi
from barnabas.link.transactions import Described, Hanging, Writer
from barnabas.link.view import TRANSACTION_KEY
from barnabas.model.errors import ErrorCode
from barnabas.wire.apis import DESCRIBE_PRODUCERS, DESCRIBE_TRANSACTIONS, LIST_TRANSACTIONS

if TYPE_CHECKING:
    from barnabas.wire.messages import (
        DescribeProducersResponse,
        DescribeTransactionsResponse,
        ListTransactionsResponse,
    )

IDS_A_REQUEST = 500
PARTITIONS_A_REQUEST = 1_000
_ANSWER_SECONDS = 10.0
_LOADING_SECONDS = 5.0  # a coordinator that has just started or been elected reads its partitions first
_PAUSE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Listed:
    transactional_id: str
    coordinator: int
    producer_id: int
    state: str


@dataclass(slots=True)
class Found:
    listed: list[Listed]
    silent: list[int]  # nodes that did not answer, or not without an error: theirs are missing
    cannot: list[int]  # those of them that do not know the request


async def read_listed(nodes: AsyncNodes, node_ids: Iterable[int], ended: bool, producers: Sequence[int] = ()) -> Found:
    """Every transactional id, or those with an open transaction only, as each coordinator lists them."""
    states = [] if ended else sorted(transactions.OPEN_STATES)
    found = Found([], [], [])
    asked = set(node_ids)

    async def ask(node: int) -> None:
        body = {
            "state_filters": states,
            "producer_id_filters": list(producers),
            "duration_filter": -1,
            "transactional_id_pattern": None,
        }
        deadline = time.monotonic() + _LOADING_SECONDS
        while True:
            try:
                answer: ListTransactionsResponse = await nodes.ask(
                    node, LIST_TRANSACTIONS, body, timeout_s=_ANSWER_SECONDS
                )
            except UnknownApi:
                found.cannot.append(node)
                return
            loads = answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            if not loads or time.monotonic() > deadline:
                break
            await asyncio.sleep(_PAUSE_SECONDS)
        if answer.error_code:
            return
        found.listed += [
            Listed(each.transactional_id, node, each.producer_id, each.transaction_state)
            for each in answer.transaction_states
        ]
        asked.discard(node)

    await of_all(ask(node) for node in list(asked))
    found.silent = sorted(asked)
    return found


async def read_described(nodes: AsyncNodes, listed: Iterable[Listed]) -> dict[str, Described]:
    of_node: dict[int, list[str]] = defaultdict(list)
    for each in listed:
        of_node[each.coordinator].append(each.transactional_id)
    found: dict[str, Described] = {}

    async def ask(node: int, names: list[str]) -> None:
        body = {"transactional_ids": names}
        answer: DescribeTransactionsResponse = await nodes.ask(
            node, DESCRIBE_TRANSACTIONS, body, timeout_s=_ANSWER_SECONDS
        )
        now_ms = time.time() * 1000
        for each in answer.transaction_states:
            if not each.error_code:
                found[each.transactional_id] = transactions.described(each, node, now_ms)

    await of_all(
        ask(node, names[first : first + IDS_A_REQUEST])
        for node, names in of_node.items()
        for first in range(0, len(names), IDS_A_REQUEST)
    )
    return found


async def read_one(nodes: AsyncNodes, transactional_id: str) -> Described | None:
    """From its coordinator, looked up now."""
    await nodes.find_coordinators(TRANSACTION_KEY, [transactional_id])
    node = nodes.view.coordinator(TRANSACTION_KEY, transactional_id)
    if node is None:
        return None
    return (await read_described(nodes, [Listed(transactional_id, node, -1, "")])).get(transactional_id)


async def read_writers(nodes: AsyncNodes, leaders: Mapping[TopicPartition, int]) -> list[Writer]:
    of_leader: dict[int, list[TopicPartition]] = defaultdict(list)
    for partition, leader in leaders.items():
        of_leader[leader].append(partition)
    found: list[Writer] = []

    async def ask(leader: int, partitions: Sequence[TopicPartition]) -> None:
        for first in range(0, len(partitions), PARTITIONS_A_REQUEST):  # one after the other: a leader serves others too
            body = {"topics": transactions.by_topic(partitions[first : first + PARTITIONS_A_REQUEST])}
            answer: DescribeProducersResponse = await nodes.ask(
                leader, DESCRIBE_PRODUCERS, body, timeout_s=_ANSWER_SECONDS
            )
            found.extend(transactions.writers(answer))

    await of_all(ask(leader, partitions) for leader, partitions in of_leader.items())
    return found


def leaders_of(facts: Facts, topic: str | None = None) -> dict[TopicPartition, int]:
    return {
        (each.name, part.index): part.leader
        for each in facts.topics.values()
        if topic in (None, each.name)
        for part in each.partitions
        if part.leader >= 0
    }


async def find_hanging(nodes: AsyncNodes, facts: Facts, longer_than_ms: int) -> tuple[list[Hanging], int]:
    """Open in a partition without a write for so long, and no coordinator counts it in; and how many partitions were
    looked at. While a coordinator does not answer nothing is said of producers that it may know."""
    leaders = leaders_of(facts)
    found = await read_writers(nodes, leaders)
    return await judge(nodes, facts, found, longer_than_ms), len(leaders)


async def judge(nodes: AsyncNodes, facts: Facts, writers: Iterable[Writer], longer_than_ms: int) -> list[Hanging]:
    now_ms = time.time() * 1000
    suspects = transactions.suspects(writers, longer_than_ms, now_ms)
    if not suspects:
        return []
    producers = sorted({each.producer_id for each in suspects})
    up = [each.id for each in facts.nodes.values()]
    listed = await read_listed(nodes, up, True, producers)
    names = {each.producer_id: each.transactional_id for each in listed.listed}
    if listed.silent:
        suspects = [each for each in suspects if each.producer_id in names]
    known = await read_described(nodes, listed.listed)
    suspects = [each for each in suspects if names.get(each.producer_id) in known or each.producer_id not in names]
    return transactions.hanging(suspects, names, known, now_ms)
