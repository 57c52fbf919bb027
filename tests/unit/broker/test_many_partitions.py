"""One request about two thousand partitions: others on the same loop are served in between."""

import asyncio
import gc
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.partition.image_turns import PARTITIONS_A_TURN

from .cluster import Cluster, ask, run, until

LIST_OFFSETS, CREATE_TOPICS, DELETE_TOPICS, DELETE_RECORDS, OFFSET_FOR_LEADER_EPOCH = 2, 19, 20, 21, 23
DESCRIBE_LOG_DIRS, INCREMENTAL_ALTER_CONFIGS, DESCRIBE_PRODUCERS = 35, 44, 61
COUNT = 2_000


class LoopWatch:
    """The most CPU time that passes in this thread between two turns of the loop; the client's own part is in it."""

    def __init__(self) -> None:
        self.worst = 0.0
        self._task = asyncio.ensure_future(self._turns())

    async def _turns(self) -> None:
        before = time.thread_time()
        while True:
            await asyncio.sleep(0.001)
            now = time.thread_time()
            self.worst, before = max(self.worst, now - before), now

    async def during(self, work: Coroutine[Any, Any, Any]) -> tuple[Any, float]:
        gc.disable()  # the garbage of all other tests of this process is not what is measured
        try:
            await asyncio.sleep(0.01)
            self.worst = 0.0
            result = await work
            await asyncio.sleep(0.01)
            return result, self.worst * 1000
        finally:
            gc.enable()

    def stop(self) -> None:
        self._task.cancel()


def offsets(timestamp: int) -> dict[str, Any]:
    asked = [{"partition_index": i, "current_leader_epoch": -1, "timestamp": timestamp} for i in range(COUNT)]
    return {"replica_id": -1, "isolation_level": 0, "topics": [{"name": "t", "partitions": asked}], "timeout_ms": 5_000}


def epochs() -> dict[str, Any]:
    asked = [{"partition": i, "current_leader_epoch": -1, "leader_epoch": 0} for i in range(COUNT)]
    return {"replica_id": -1, "topics": [{"topic": "t", "partitions": asked}]}


def with_partitions(folder: Path, test: Callable[[Cluster, LoopWatch], Coroutine[Any, Any, None]]) -> None:
    async def story() -> None:
        cluster = Cluster(folder, 1)
        try:
            await cluster.start()
            node = cluster.nodes[1]
            topic = {"name": "t", "num_partitions": COUNT, "replication_factor": 1, "configs": []}
            body = {"topics": [topic], "timeout_ms": 10_000, "validate_only": False}
            assert (await ask(node, CREATE_TOPICS, 7, body)).topics[0].error_code == 0
            await until(lambda: node.partitions.get("t", COUNT - 1) is not None)
            watch = LoopWatch()
            await test(cluster, watch)
            watch.stop()
        finally:
            cluster.drop()

    run(story)


@pytest.mark.parametrize(
    ("key", "version", "body"),
    [
        (LIST_OFFSETS, 7, offsets(-1)),
        (LIST_OFFSETS, 7, offsets(-3)),
        (OFFSET_FOR_LEADER_EPOCH, 3, epochs()),
        (DESCRIBE_PRODUCERS, 0, {"topics": [{"name": "t", "partition_indexes": list(range(COUNT))}]}),
        (DESCRIBE_LOG_DIRS, 4, {"topics": None}),
    ],
)
def test_a_first_question_opens_many_folders_in_turns(
    tmp_path: Path, key: int, version: int, body: dict[str, Any]
) -> None:
    async def test(cluster: Cluster, watch: LoopWatch) -> None:
        await ask(cluster.nodes[1], key, version, body | {"topics": []})  # compiles the codec
        answer, held_ms = await watch.during(ask(cluster.nodes[1], key, version, body))
        if key == DESCRIBE_LOG_DIRS:
            assert len(answer.results[0].topics[0].partitions) == COUNT
        else:
            assert [part.error_code for part in answer.topics[0].partitions] == [0] * COUNT
        assert held_ms < 50

    with_partitions(tmp_path, test)


def test_deleting_many_partitions_leaves_the_loop_to_others_and_no_folder(tmp_path: Path) -> None:
    async def test(cluster: Cluster, watch: LoopWatch) -> None:
        node = cluster.nodes[1]
        await ask(node, LIST_OFFSETS, 7, offsets(0))  # by time: which opens the log of each
        folder = node.data_dir
        assert len(list(folder.glob("t-*"))) == COUNT
        deletion = ask(node, DELETE_TOPICS, 5, {"topic_names": ["t"], "timeout_ms": 10_000})
        answer, held_ms = await watch.during(deletion)
        assert answer.responses[0].error_code == 0
        assert held_ms < 60
        # A topic of the same name does not find the folders of the old one, removed or not.
        topic = {"name": "t", "num_partitions": COUNT, "replication_factor": 1, "configs": []}
        body = {"topics": [topic], "timeout_ms": 10_000, "validate_only": False}
        answer, held_ms = await watch.during(ask(node, CREATE_TOPICS, 7, body))
        assert answer.topics[0].error_code == 0
        assert held_ms < 60
        last = node.partitions.get("t", COUNT - 1)
        assert last is not None
        assert last.untouched
        assert last.open().log.log_end_offset == 0  # it is open now, in a folder of its own
        await until(lambda: [path.name for path in folder.glob("t-*")] == [f"t-{COUNT - 1}"], 25)

    with_partitions(tmp_path, test)


def test_new_partitions_are_found_before_their_turn(tmp_path: Path) -> None:
    """A change about 2,000 partitions is applied in turns; a request for one sees it at once."""

    async def story(cluster: Cluster, watch: LoopWatch) -> None:
        node = cluster.nodes[1]
        old = node.partitions.get("t", COUNT - 1)
        await delete(node)
        assert node.partitions.get("t", COUNT - 1) is None
        topic = {"name": "t", "num_partitions": COUNT, "replication_factor": 1, "configs": []}
        body = {"topics": [topic], "timeout_ms": 10_000, "validate_only": False}
        seen: list[tuple[bool, bool, int]] = []
        follow = node.partitions.apply

        def followed(*args: Any, **kwargs: Any) -> None:
            follow(*args, **kwargs)
            waits = bool(node.partitions._applying.waiting)
            last = node.partitions.get("t", COUNT - 1)
            seen.append((waits, last is not None and last is not old, sum(1 for _ in node.partitions)))

        node.partitions.apply = followed  # type: ignore[method-assign]
        assert (await ask(node, CREATE_TOPICS, 7, body)).topics[0].error_code == 0
        waited, found, hosted = seen[0]
        assert waited and found and hosted < COUNT
        await node.partitions.image_applied()
        assert {p.id.partition for p in node.partitions if p.id.topic == "t"} == set(range(COUNT))
        await until(lambda: old is not None and old.deleted)

    with_partitions(tmp_path, story)


def test_changed_partitions_are_found_before_their_turn(tmp_path: Path) -> None:
    """A setting of 2,000 existing partitions; a second change while the first is taken over."""

    async def story(cluster: Cluster, watch: LoopWatch) -> None:
        node = cluster.nodes[1]
        seen: list[tuple[bool, int, int]] = []
        follow = node.partitions.apply
        first = next(iter(node.partitions))

        def size(index: int) -> int:
            partition = node.partitions.get("t", index)
            assert partition is not None
            return partition.config.max_message_bytes

        def followed(*args: Any, **kwargs: Any) -> None:
            follow(*args, **kwargs)
            seen.append((bool(node.partitions._applying.waiting), size(COUNT - 1), size(0)))

        node.partitions.apply = followed  # type: ignore[method-assign]
        await asyncio.gather(set_message_bytes(node, 5_000), set_message_bytes(node, 6_000))
        last = seen[-1][1]
        assert {size for _, size, _ in seen} <= {5_000, 6_000}
        assert all(waits and size == first_size for waits, size, first_size in seen)
        await node.partitions.image_applied()
        assert {partition.config.max_message_bytes for partition in node.partitions} == {last}
        assert next(iter(node.partitions)) is first

    with_partitions(tmp_path, story)


async def set_message_bytes(node: Any, size: int) -> None:
    change = {"name": "max.message.bytes", "config_operation": 0, "value": str(size)}
    body = {"resources": [{"resource_type": 2, "resource_name": "t", "configs": [change]}], "validate_only": False}
    assert (await ask(node, INCREMENTAL_ALTER_CONFIGS, 1, body)).responses[0].error_code == 0


async def delete(node: Any) -> None:
    body = {"topics": [{"name": "t", "topic_id": bytes(16)}], "timeout_ms": 10_000}
    assert (await ask(node, DELETE_TOPICS, 6, body)).responses[0].error_code == 0


def test_what_is_decided_during_a_long_decision_builds_on_it(tmp_path: Path) -> None:
    """The second request for a topic comes while the records of the first are being encoded."""

    async def story(cluster: Cluster, watch: LoopWatch) -> None:
        node = cluster.nodes[1]
        topic = {"name": "u", "num_partitions": COUNT, "replication_factor": 1, "configs": []}
        body = {"topics": [topic], "timeout_ms": 10_000, "validate_only": False}
        answers = await asyncio.gather(*[ask(node, CREATE_TOPICS, 7, body) for _ in range(3)])
        assert sorted(answer.topics[0].error_code for answer in answers) == [0, 36, 36]
        assert len(node.image.topics["u"].partitions) == COUNT

    with_partitions(tmp_path, story)


def test_many_small_topics_are_deleted_in_turns(tmp_path: Path) -> None:
    """One request, 2,400 partitions: no more of them are let go at once than of one large topic."""
    names = [f"small-{number}" for number in range(60)]

    async def story(cluster: Cluster, watch: LoopWatch) -> None:
        node = cluster.nodes[1]
        topics = [{"name": name, "num_partitions": 40, "replication_factor": 1, "configs": []} for name in names]
        answer = await ask(node, CREATE_TOPICS, 7, {"topics": topics, "timeout_ms": 10_000, "validate_only": False})
        assert {topic.error_code for topic in answer.topics} == {0}
        await node.partitions.image_applied()
        partitions = [partition for partition in node.partitions if partition.id.topic in names]
        assert len(partitions) == 2_400
        deleted_at_once: list[int] = []
        follow = node.partitions.apply

        def followed(*args: Any, **kwargs: Any) -> None:
            follow(*args, **kwargs)
            deleted_at_once.append(sum(partition.deleted for partition in partitions))
            assert all(node.partitions.hosted(*partition.id) is None for partition in partitions)

        node.partitions.apply = followed  # type: ignore[method-assign]
        await ask(node, DELETE_TOPICS, 5, {"topic_names": names, "timeout_ms": 10_000})
        assert 0 < deleted_at_once[0] <= PARTITIONS_A_TURN
        await until(lambda: all(partition.deleted for partition in partitions))
        assert not set(names) & set(node.partitions._hosted)

    with_partitions(tmp_path, story)
