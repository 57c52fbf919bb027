"""Links and mirrors of the console: nodes that do not answer, rates between looks, mirrors by the names of topics."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import cast

from barnabas.console.clusters.cluster_links import LinkRates, Links, Rate, read_links
from barnabas.console.clusters.facts import Partition, Topic
from barnabas.console.clusters.mirrors import Mirror, mirrors_of, read_newest
from barnabas.link.async_nodes import AsyncNodes
from barnabas.link.errors import LinkDown, UnknownApi
from barnabas.model.errors import ErrorCode
from barnabas.operate.cluster_links import Progress


class Answers:
    """In place of a cluster: what each node answers."""

    def __init__(self, **of_nodes: object) -> None:
        self._of_nodes = {int(name.removeprefix("n")): answer for name, answer in of_nodes.items()}

    async def ask(self, node: int, *_: object, **__: object) -> object:
        answer = self._of_nodes[node]
        if isinstance(answer, Exception):
            raise answer
        return answer


def told(*names: str, error: int = 0) -> SimpleNamespace:
    links = [
        SimpleNamespace(
            name=name,
            error_message=None,
            sync_error_message=None,
            unreached_ms=-1,
            promoted_topics=[],
            users=-1,
            own_users=[],
            synced_ms=-1,
            partitions=[],
        )
        for name in names
    ]
    return SimpleNamespace(error_code=error, error_message=None, links=links)


def read(answers: Answers, *nodes: int) -> Links:
    return asyncio.run(read_links(cast(AsyncNodes, answers), nodes))


def test_who_is_silent_who_cannot_and_who_refuses() -> None:
    found = read(Answers(n1=told("east"), n2=LinkDown("gone"), n3=told("east", "north")), 1, 2, 3)
    assert (sorted(found.links), found.silent, found.cannot, found.refused) == (["east", "north"], [2], False, "")
    kafka = read(Answers(n1=UnknownApi("DescribeLinks"), n2=UnknownApi("DescribeLinks")), 1, 2)
    assert (kafka.silent, kafka.cannot) == ([], True)
    assert not read(Answers(n1=UnknownApi("DescribeLinks"), n2=told()), 1, 2).cannot  # nodes are being upgraded
    refused = read(Answers(n1=told(error=int(ErrorCode.CLUSTER_AUTHORIZATION_FAILED))), 1)
    assert refused.refused and not refused.links


def progress(end: int, fetched: int) -> Progress:
    part = SimpleNamespace(topic="t", partition_index=0, end_offset=end, bytes_fetched=fetched)
    return Progress("east", partitions=[part])  # type: ignore[list-item]


def test_a_rate_is_between_two_looks_that_are_a_second_apart() -> None:
    rates = LinkRates()
    assert rates.looked({"east": progress(10, 100)}, 0.0) == {"east": None}
    assert rates.looked({"east": progress(20, 200)}, 0.5) == {"east": None}  # another tab
    assert rates.looked({"east": progress(30, 300)}, 2.0) == {"east": Rate(10.0, 100.0)}
    assert rates.looked({"east": progress(99, 999)}, 2.1) == {"east": Rate(10.0, 100.0)}
    assert rates.looked({}, 3.0) == {}
    assert rates.looked({"east": progress(99, 999)}, 9.0) == {"east": None}  # it was deleted and made anew


def test_mirrors_are_read_from_names() -> None:
    names = [
        "east.heartbeats",
        "east.checkpoints.internal",
        "east.orders",
        "east.views",
        "north.east.heartbeats",  # came through north
        "south.heartbeats",
        "heartbeats",
        "mm2-offset-syncs.west.internal",
        "orders.internal",
        "own.orders",
    ]
    assert mirrors_of(dict.fromkeys(names)) == [
        Mirror("east", True, 2, "east.heartbeats", "east.checkpoints.internal"),
        Mirror("south", True, 0, "south.heartbeats", ""),
        Mirror("west", False, 0, "heartbeats", "mm2-offset-syncs.west.internal"),
    ]
    assert mirrors_of({"orders": None}) == []


def test_what_is_empty_or_refused_has_no_time() -> None:
    def topic(name: str, leader: int) -> Topic:
        return Topic(name, "", False, (Partition(0, leader, 0, (leader,), (leader,)),))

    def answer(code: int, timestamp: int) -> SimpleNamespace:
        partition = SimpleNamespace(error_code=code, timestamp=timestamp)
        return SimpleNamespace(topics=[SimpleNamespace(partitions=[partition])])

    answers = Answers(n1=answer(0, 5000), n2=answer(0, -1), n3=answer(29, -1), n4=LinkDown("gone"))
    topics = [topic("beats", 1), topic("empty", 2), topic("hidden", 3), topic("down", 4), topic("leaderless", -1)]
    assert asyncio.run(read_newest(cast(AsyncNodes, answers), topics)) == {"beats": 5000}
