"""Partitions with records after a start of all nodes: opened in turns, not inside of the fetches that need them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.partition.opening_turns import OpeningTurns
from barnabas.broker.partition.table import PartitionTable
from barnabas.model.ids import TopicPartition

from .cluster import Cluster, run, until
from .test_replication import batch, create, produced

COUNT = 40


def test_all_are_in_sync_after_a_start_and_each_was_opened_in_its_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[TopicPartition] = []
    try_open = PartitionTable.try_open

    def counted(table: PartitionTable, partition: Any) -> bool:
        opened.append(partition.id)
        return try_open(table, partition)

    def in_sync(cluster: Cluster) -> bool:
        topics = [node.image.topics["t"] for node in cluster.nodes.values()]
        return all(len(partition.isr) == 3 for topic in topics for partition in topic.partitions)

    async def story() -> None:
        cluster = Cluster(tmp_path, broker_session_timeout_ms="3000")
        try:
            await cluster.start()
            await create(cluster, partitions=COUNT)
            for index in range(COUNT):
                await produced(cluster, batch([b"one"]), index=index)
            await cluster.stop()
            monkeypatch.setattr(PartitionTable, "try_open", counted)
            await cluster.start()
            await until(lambda: in_sync(cluster), 20)
            hosted = [found for node in cluster.nodes.values() for found in node.partitions if found.id.topic == "t"]
            assert len(hosted) == 3 * COUNT and all(partition.is_open for partition in hosted)
            await until(lambda: all(partition.open().high_watermark == 1 for partition in hosted))
            expected = sorted(TopicPartition("t", index) for index in range(COUNT) for _ in range(3))
            assert sorted(each for each in opened if each.topic == "t") == expected
        finally:
            cluster.drop()

    run(story)


def test_one_that_cannot_be_opened_is_told_of_and_does_not_stop_the_others() -> None:
    class Partition:
        is_open = deleted = is_being_opened = False

    async def story() -> None:
        broken, whole, gone = Partition(), Partition(), Partition()
        gone.deleted = True
        tried: list[Any] = []
        told: list[str] = []

        def open_partition(partition: Any) -> bool:
            tried.append(partition)
            partition.is_open = partition is whole
            return bool(partition.is_open)

        turns = OpeningTurns(open_partition, lambda error: told.append(str(error)))
        for name, partition in (("broken", broken), ("whole", whole), ("gone", gone)):
            turns.request(partition, lambda name=name: told.append(name))  # type: ignore[arg-type,misc]
        turns.request(whole, lambda: told.append("asked again"))  # type: ignore[arg-type]
        async with asyncio.timeout(5):
            while len(told) < 3:
                await asyncio.sleep(0)
        assert tried == [broken, whole]
        assert told == ["broken", "asked again", "gone"]

    run(story)


def test_a_request_as_the_last_one_ends_is_served() -> None:
    """The task has ended and its callback has not run yet: the request finds a task, which will not look again."""

    class Partition:
        is_open = deleted = is_being_opened = False

    async def story() -> None:
        tried: list[Any] = []
        turns = OpeningTurns(lambda partition: tried.append(partition) is None, lambda error: None)
        first, second, served = Partition(), Partition(), asyncio.Event()
        loop = asyncio.get_running_loop()
        ask: Any = turns.request
        ask(first, lambda: loop.call_soon(ask, second, served.set))
        async with asyncio.timeout(5):
            await served.wait()
        assert tried == [first, second]

    run(story)
