"""Three real nodes in one loop: what is acknowledged is on every in-sync replica, and outlives its leader."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.fetch import follower
from barnabas.broker.node import Node
from barnabas.broker.partition.partition import HostedPartition
from barnabas.broker.replication import fetching
from barnabas.model.errors import ErrorCode
from barnabas.wire.batch import iter_batches
from barnabas.wire.records import Record, build_batch, iter_records

from .cluster import Cluster, ask, run, until

CREATE_TOPICS, PRODUCE, FETCH, DELETE_RECORDS = 19, 0, 1, 21


def batch(values: list[bytes], producer: tuple[int, int, int] = (-1, -1, -1), *, transactional: bool = False) -> bytes:
    now = int(time.time() * 1000)
    records = [Record(i, now, None, value, ()) for i, value in enumerate(values)]
    producer_id, epoch, sequence = producer
    return bytes(
        build_batch(
            records,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            transactional=transactional,
        )
    )


async def create(cluster: Cluster, name: str = "t", partitions: int = 1, **configs: str) -> None:
    node = await cluster.controller()
    topic = {
        "name": name,
        "num_partitions": partitions,
        "replication_factor": len(cluster.ports),
        "configs": [{"name": key.replace("_", "."), "value": value} for key, value in configs.items()],
    }
    body = {"topics": [topic], "timeout_ms": 10_000, "validate_only": False}
    answer = await ask(node, CREATE_TOPICS, 7, body)
    assert answer.topics[0].error_code == 0, answer
    await until(lambda: all(node.image.topic(name) is not None for node in cluster.nodes.values()))


def leader(cluster: Cluster, name: str = "t", index: int = 0) -> Node | None:
    return next((node for node in cluster.nodes.values() if node.partitions.get(name, index) is not None), None)


async def leader_of(cluster: Cluster, name: str = "t", index: int = 0) -> Node:
    await until(lambda: leader(cluster, name, index) is not None)
    found = leader(cluster, name, index)
    assert found is not None
    return found


def replicas(cluster: Cluster, name: str = "t", index: int = 0) -> list[HostedPartition]:
    found = (node.partitions.hosted(name, index) for node in cluster.nodes.values())
    return [partition for partition in found if partition is not None]


async def produce(node: Node, data: bytes, *, name: str = "t", index: int = 0, acks: int = -1, ms: int = 5000) -> Any:
    body = {
        "acks": acks,
        "timeout_ms": ms,
        "topic_data": [{"name": name, "partition_data": [{"index": index, "records": data}]}],
    }
    answer = await ask(node, PRODUCE, 9, body)
    return answer.responses[0].partition_responses[0]


async def produced(cluster: Cluster, data: bytes, *, name: str = "t", index: int = 0) -> int:
    """As a client does it: at the leader, again and again until it is acknowledged; gives the offset."""
    while True:
        node = await leader_of(cluster, name, index)
        try:
            async with asyncio.timeout(1.0):  # a node killed inside of this process may leave a connection open
                answer = await produce(node, data, name=name, index=index)
            if answer.error_code == 0:
                return int(answer.base_offset)
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            pass
        await asyncio.sleep(0.02)


def content(partition: HostedPartition, end: int | None = None) -> bytes:
    """The bytes of the log up to an offset."""
    log = partition.open().log
    end, offset, found = log.log_end_offset if end is None else end, log.log_start_offset, b""
    while offset < end:
        data = log.read(offset, 1 << 20, end).read()
        found += data
        offset = [header.next_offset for _, header in iter_batches(data)][-1]
    return found


def values(partition: HostedPartition) -> list[bytes]:
    data = content(partition)
    return [
        record.value or b""
        for position, header in iter_batches(data)
        if not header.is_control
        for record in iter_records(memoryview(data)[position : position + header.size])
    ]


def same(cluster: Cluster, name: str = "t", index: int = 0) -> bool:
    found = replicas(cluster, name, index)
    ends = {partition.open().log.log_end_offset for partition in found}
    return len(ends) == 1 and len({content(partition) for partition in found}) == 1


def state(partition: HostedPartition) -> Any:
    producers = sorted(entry for entry in partition.open().producers.entries())
    return producers, partition.open().aborted.between(0, 1 << 62), partition.open().log.epochs.entries


def isr(cluster: Cluster, name: str = "t", index: int = 0) -> set[int]:
    node = next(iter(cluster.nodes.values()))
    image = node.image.partition(name, index)
    return set(image.isr) if image is not None else set()


def test_an_acknowledged_record_is_on_every_replica(tmp_path: Path) -> None:
    async def test() -> None:
        cluster = Cluster(tmp_path)
        await cluster.start()
        try:
            await create(cluster)
            node = await leader_of(cluster)
            for number in range(20):
                answer = await produce(node, batch([b"%d" % number], (7, 0, number)))
                assert (answer.error_code, answer.base_offset) == (0, number)
                assert all(part.open().log.log_end_offset == number + 1 for part in replicas(cluster))
            assert same(cluster)
            assert len({str(state(partition)) for partition in replicas(cluster)}) == 1
            # the watermark follows with the next answer
            await until(lambda: {part.open().high_watermark for part in replicas(cluster)} == {20})
        finally:
            cluster.drop()

    run(test)


def test_nothing_is_lost_when_leaders_are_killed(tmp_path: Path) -> None:
    async def test() -> None:
        cluster = Cluster(tmp_path, min_insync_replicas="2")
        await cluster.start()
        try:
            await create(cluster)
            acknowledged: list[bytes] = []
            sequence = 0

            async def write(count: int) -> None:
                nonlocal sequence
                for _ in range(count):
                    value = b"%d" % sequence
                    await produced(cluster, batch([value], (9, 0, sequence)))
                    sequence += 1
                    acknowledged.append(value)

            await write(10)
            for _ in range(2):
                victim = await leader_of(cluster)
                writing = asyncio.ensure_future(write(30))
                await asyncio.sleep(0.03)
                cluster.kill(victim.node_id)
                begun = time.monotonic()
                await writing
                assert time.monotonic() - begun < 5
                await cluster.start(victim.node_id)
                await until(lambda: isr(cluster) == {1, 2, 3})
            await write(5)
            assert values((await leader_of(cluster)).partitions.get("t", 0)) == acknowledged  # type: ignore[arg-type]
            await until(lambda: same(cluster))
        finally:
            cluster.drop()

    run(test)


def test_a_follower_that_is_away_leaves_and_comes_back(tmp_path: Path) -> None:
    async def test() -> None:
        cluster = Cluster(tmp_path)
        await cluster.start()
        try:
            await create(cluster)
            node = await leader_of(cluster)
            await produce(node, batch([b"a"]))
            away = cluster.others(node)[0].node_id
            cluster.kill(away)
            await until(lambda: away not in isr(cluster))
            for number in range(5):
                assert (await produce(node, batch([b"%d" % number]))).error_code == 0
            await cluster.start(away)
            await until(lambda: isr(cluster) == {1, 2, 3})
            await until(lambda: same(cluster))
        finally:
            cluster.drop()

    run(test)


def test_a_partition_that_is_opened_and_not_written_to_keeps_its_followers(tmp_path: Path) -> None:
    async def test() -> None:
        cluster = Cluster(tmp_path, replica_lag_time_max_ms="300")
        await cluster.start()
        try:
            await create(cluster, min_insync_replicas="2")
            node = await leader_of(cluster)
            partition = node.partitions.get("t", 0)
            assert partition is not None
            await until(lambda: len(partition.leadership.slots) == 2)
            assert partition.untouched
            partition.open()
            await asyncio.sleep(1.0)
            assert isr(cluster) == {1, 2, 3}
            assert (await produce(node, batch([b"a"]))).error_code == 0
        finally:
            cluster.drop()

    run(test)


def test_partitions_are_named_looked_at_and_taken_one_in_a_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a start, when opening each of thousands takes its time."""
    monkeypatch.setattr(fetching, "_STEP_SECONDS", 0.0)
    monkeypatch.setattr(follower, "_READ_SECONDS", 0.0)

    async def test() -> None:
        cluster = Cluster(tmp_path)
        await cluster.start()
        try:
            await create(cluster, partitions=12, min_insync_replicas="2")
            for index in range(12):
                await produced(cluster, batch([b"a"]), index=index)
            away = cluster.others(await leader_of(cluster))[0].node_id
            cluster.kill(away)
            await until(lambda: all(away not in isr(cluster, index=index) for index in range(12)))
            for index in range(12):
                await produced(cluster, batch([b"b"]), index=index)
            await cluster.start(away)
            await until(lambda: all(isr(cluster, index=index) == {1, 2, 3} for index in range(12)))
            await until(lambda: all(same(cluster, index=index) for index in range(12)))
        finally:
            cluster.drop()

    run(test)


def test_a_follower_comes_back_to_a_partition_without_a_folder(tmp_path: Path) -> None:
    """10,000 folders made one after the other, because a broker has started again, took longer than a minute."""

    async def test() -> None:
        cluster = Cluster(tmp_path, replica_lag_time_max_ms="300")
        await cluster.start()
        try:
            await create(cluster, min_insync_replicas="2")
            node = await leader_of(cluster)
            partition = node.partitions.get("t", 0)
            assert partition is not None
            away = cluster.others(node)[0].node_id
            cluster.kill(away)
            await until(lambda: away not in isr(cluster))
            await cluster.start(away)
            await until(lambda: isr(cluster) == {1, 2, 3} and partition.image.isr == tuple(partition.image.replicas))
            assert partition.untouched and partition.leadership.state is None
            assert not list(tmp_path.glob("*/t-0"))
            await asyncio.sleep(0.7)  # longer than a follower may be silent, twice
            assert isr(cluster) == {1, 2, 3}
            assert (await produce(node, batch([b"a"]))).error_code == 0
            await until(lambda: same(cluster))
            assert isr(cluster) == {1, 2, 3}
        finally:
            cluster.drop()

    run(test)


def test_a_follower_that_was_silent_comes_back_to_a_partition_nobody_writes_to(tmp_path: Path) -> None:
    """Its fetch session goes on as if nothing had been, so it names nothing anew."""

    async def test() -> None:
        cluster = Cluster(tmp_path, broker_session_timeout_ms="600", broker_heartbeat_interval_ms="100")
        await cluster.start()
        try:
            await create(cluster, min_insync_replicas="2")
            node = await leader_of(cluster)
            partition = node.partitions.get("t", 0)
            assert partition is not None
            await until(lambda: len(partition.leadership.slots) == 2)
            active = await cluster.controller()
            silent = next(other for other in cluster.others(node) if other is not active)
            beating = silent.lifecycle._task
            assert beating is not None and partition.untouched
            beating.cancel()
            await until(lambda: silent.node_id not in isr(cluster))
            silent.lifecycle.start_beating()
            await until(lambda: isr(cluster) == {1, 2, 3})
        finally:
            cluster.drop()

    run(test)


def test_too_few_in_sync(tmp_path: Path) -> None:
    async def test() -> None:
        cluster = Cluster(tmp_path)
        await cluster.start()
        try:
            await create(cluster, min_insync_replicas="3")
            node = await leader_of(cluster)
            assert (await produce(node, batch([b"a"]))).error_code == 0
            cluster.kill(cluster.others(node)[0].node_id)
            await until(lambda: len(isr(cluster)) == 2)
            await until(lambda: node.partitions.get("t", 0).leadership.under_min_isr)  # type: ignore[union-attr]
            assert (await produce(node, batch([b"b"]))).error_code == ErrorCode.NOT_ENOUGH_REPLICAS
            assert (await produce(node, batch([b"c"]), acks=1)).error_code == 0
            partition = node.partitions.get("t", 0)
            assert partition is not None and partition.open().high_watermark == 1 < partition.open().log.log_end_offset
        finally:
            cluster.drop()

    run(test)


def test_a_record_that_only_the_leader_had_is_cut_from_it(tmp_path: Path) -> None:
    async def test() -> None:
        cluster = Cluster(tmp_path)
        await cluster.start()
        try:
            await create(cluster)
            node = await leader_of(cluster)
            await produce(node, batch([b"a", b"b"], (3, 0, 0)))
            node.replication.sessions.close()  # nobody fetches any more
            for other in cluster.others(node):
                other.replication.stop()
            assert (await produce(node, batch([b"never"], (3, 0, 2)), acks=1)).error_code == 0
            cluster.kill(node.node_id)
            for other in list(cluster.nodes.values()):
                await other.replication.start()
            later = await leader_of(cluster)
            assert await produced(cluster, batch([b"c"], (3, 0, 2))) == 2
            await cluster.start(node.node_id)
            await until(lambda: isr(cluster) == {1, 2, 3})
            await until(lambda: same(cluster))
            assert values(later.partitions.get("t", 0)) == [b"a", b"b", b"c"]  # type: ignore[arg-type]
            assert len({str(state(partition)) for partition in replicas(cluster)}) == 1
        finally:
            cluster.drop()

    run(test)


def test_a_lost_folder_is_filled_again(tmp_path: Path) -> None:
    async def test() -> None:
        cluster = Cluster(tmp_path)
        await cluster.start()
        try:
            await create(cluster)
            node = await leader_of(cluster)
            for number in range(3):
                await produce(node, batch([b"%d" % number]))
            number = node.node_id  # the leader itself
            await node.stop()
            del cluster.nodes[number]
            for path in sorted((tmp_path / str(number) / "t-0").iterdir()):
                path.unlink()
            (tmp_path / str(number) / "t-0").rmdir()
            await cluster.start(number)
            await until(lambda: isr(cluster) == {1, 2, 3})
            await until(lambda: same(cluster))
            assert all(values(partition) == [b"0", b"1", b"2"] for partition in replicas(cluster))
        finally:
            cluster.drop()

    run(test)


@pytest.mark.parametrize("flush", ["1", "9223372036854775807"])
def test_many_partitions_and_many_writers(tmp_path: Path, flush: str) -> None:
    async def test() -> None:
        cluster = Cluster(tmp_path)
        await cluster.start()
        try:
            await create(cluster, partitions=6, flush_messages=flush)

            async def write(index: int) -> None:
                for number in range(10):
                    await produced(cluster, batch([b"%d" % number]), index=index)

            await asyncio.gather(*(write(index) for index in range(6)))
            for index in range(6):
                await until(lambda index=index: same(cluster, index=index))  # type: ignore[misc]
                assert all(len(values(part)) == 10 for part in replicas(cluster, index=index))
                if flush == "1":
                    assert all(part.open().log.recovery_point == 10 for part in replicas(cluster, index=index))
        finally:
            cluster.drop()

    run(test)


def test_nothing_is_sent_twice(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A follower that flushes first says later how far it has got; until then it is not sent the same again."""

    async def test() -> None:
        cluster = Cluster(tmp_path)
        await cluster.start()
        try:
            await create(cluster, flush_messages="1")
            node = await leader_of(cluster)
            begun = time.monotonic()

            async def write() -> None:
                for number in range(10):
                    assert (await produce(node, batch([b"%d" % number]))).error_code == 0

            await asyncio.gather(*(write() for _ in range(6)))
            assert time.monotonic() - begun < 10 * 0.25  # far from replica.fetch.wait.max.ms each
            assert not [line for line in caplog.messages if "was fetched" in line]
        finally:
            cluster.drop()

    run(test)


def test_a_record_written_because_another_was_committed_does_not_wait(tmp_path: Path) -> None:
    """As a transaction's coordinator does: the fetch that commits the first record must bring the second one home."""

    async def test() -> None:
        cluster = Cluster(tmp_path)
        await cluster.start()
        try:
            await create(cluster)
            node = await leader_of(cluster)
            await produce(node, batch([b"first"]))
            hosted = node.partitions.get("t", 0)
            assert hosted is not None
            partition = hosted.open()
            done = asyncio.Event()
            left, begun = 20, time.monotonic()
            waited: list[float] = []

            def committed(code: ErrorCode) -> None:
                nonlocal left, begun
                assert code is ErrorCode.NONE
                waited.append(time.monotonic() - begun)
                begun, left = time.monotonic(), left - 1
                if left:
                    partition.when_committed(partition.appends.append_records([(b"k", b"v")], 1), committed)
                else:
                    done.set()

            partition.when_committed(partition.appends.append_records([(b"k", b"v")], 1), committed)
            await done.wait()
            assert sorted(waited)[len(waited) // 2] < 0.2, waited
        finally:
            cluster.drop()

    run(test)


@pytest.mark.parametrize("leads", [False, True])
def test_a_flipped_bit_is_found_and_mended(tmp_path: Path, leads: bool) -> None:
    async def test() -> None:
        cluster = Cluster(tmp_path, log_verify_interval_ms="200", auto_leader_rebalance_enable="false")
        await cluster.start()
        try:
            await create(cluster)
            node = await leader_of(cluster)
            for number in range(10):
                await produce(node, batch([b"%d" % number * 50]))
            number = (cluster.others(node)[0]).node_id
            await cluster.nodes.pop(number).stop()
            path = tmp_path / str(number) / "t-0" / f"{0:020d}.log"
            data = bytearray(path.read_bytes())
            data[len(data) // 2 + 80] ^= 1  # in the value of a record
            path.write_bytes(data)
            await cluster.start(number)
            if leads:  # it is the first to be asked, before anybody has read it
                for other in cluster.others(cluster.nodes[number]):
                    await cluster.nodes.pop(other.node_id).stop()
                    await cluster.start(other.node_id)
            await until(lambda: isr(cluster) == {1, 2, 3} and same(cluster), 20)
            assert all(len(values(partition)) == 10 for partition in replicas(cluster))
            assert not any(partition.lost or partition.open().log.verify() for partition in replicas(cluster))
        finally:
            cluster.drop()

    run(test)


def test_deleted_records_are_gone_everywhere(tmp_path: Path) -> None:
    async def test() -> None:
        cluster = Cluster(tmp_path)
        await cluster.start()
        try:
            await create(cluster)
            node = await leader_of(cluster)
            for number in range(5):
                await produce(node, batch([b"%d" % number, b"more"]))
            await until(lambda: {part.open().high_watermark for part in replicas(cluster)} == {10})
            asked = [{"partition_index": 0, "offset": 3}]  # inside of a batch
            body = {"topics": [{"name": "t", "partitions": asked}], "timeout_ms": 5000}
            begun = time.monotonic()
            found = (await ask(node, DELETE_RECORDS, 2, body)).topics[0].partitions[0]
            assert (found.error_code, found.low_watermark) == (0, 3)
            assert time.monotonic() - begun < 2
            assert {part.open().log.log_start_offset for part in replicas(cluster)} == {3}
            # a replica that begins anew begins there as well
            number = cluster.others(node)[0].node_id
            await cluster.nodes.pop(number).stop()
            for path in sorted((tmp_path / str(number) / "t-0").iterdir()):
                path.unlink()
            (tmp_path / str(number) / "t-0").rmdir()
            await cluster.start(number)
            await until(lambda: isr(cluster) == {1, 2, 3} and same(cluster))
            assert {part.open().log.log_start_offset for part in replicas(cluster)} == {3}
        finally:
            cluster.drop()

    run(test)


def test_a_consumer_is_sent_to_a_replica_in_its_rack(tmp_path: Path) -> None:
    async def test() -> None:
        cluster = Cluster(tmp_path, replica_selector_class="RackAwareReplicaSelector")
        cluster.more = {number: {"broker.rack": f"r{number}"} for number in cluster.ports}
        await cluster.start()
        try:
            await create(cluster)
            node = await leader_of(cluster)
            await produce(node, batch([b"a"]))
            near = cluster.others(node)[0]
            asked = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
            body = {
                "max_wait_ms": 100,
                "min_bytes": 1,
                "max_bytes": 1 << 20,
                "session_epoch": -1,
                "rack_id": near.rack,
                "topics": [{"topic": "t", "partitions": [asked]}],
            }
            found = (await ask(node, FETCH, 12, body)).responses[0].partitions[0]
            assert (found.error_code, found.preferred_read_replica, len(found.records)) == (0, near.node_id, 0)
            await until(lambda: near.partitions.hosted("t", 0).open().high_watermark == 1)  # type: ignore[union-attr]
            found = (await ask(near, FETCH, 12, body)).responses[0].partitions[0]
            assert (found.error_code, found.preferred_read_replica, found.high_watermark) == (0, -1, 1)
            assert found.records
            found = (await ask(node, FETCH, 12, body | {"rack_id": node.rack})).responses[0].partitions[0]
            assert found.preferred_read_replica == -1 and found.records
            # nobody but a replica may say how far it has got
            state = {"replica_id": 9, "replica_epoch": -1}
            topics = [{"topic_id": node.image.topics["t"].id, "partitions": [asked]}]
            posing = (await ask(node, FETCH, 15, body | {"replica_state": state, "topics": topics})).responses[0]
            assert posing.partitions[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        finally:
            cluster.drop()

    run(test)


def test_nothing_is_kept_for_a_replica_that_nobody_registered(tmp_path: Path) -> None:
    async def test() -> None:
        cluster = Cluster(tmp_path)
        await cluster.start()
        try:
            await create(cluster)
            node = await leader_of(cluster)
            asked = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
            topics = [{"topic_id": node.image.topics["t"].id, "partitions": [asked]}]
            sessions = node.replication.sessions
            for number in range(1000, 1020):
                state = {"replica_id": number, "replica_epoch": -1}
                body = {"max_wait_ms": 100, "min_bytes": 1, "max_bytes": 1 << 20, "session_epoch": 0}
                answer = await ask(node, FETCH, 15, body | {"replica_state": state, "topics": topics})
                assert answer.session_id == 0
            assert {
                session.replica_id for session in sessions
            } | sessions.last_fetches.keys() <= node.image.brokers.keys()
            await until(lambda: len(node.partitions.hosted("t", 0).leadership.slots) == 2)  # type: ignore[union-attr]
            follower = cluster.others(node)[0]
            for _ in range(5):
                state = {"replica_id": follower.node_id, "replica_epoch": follower.broker_epoch}
                body = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20, "session_epoch": -1}
                await ask(node, FETCH, 15, body | {"replica_state": state, "topics": topics})
            await until(lambda: len(node.partitions.hosted("t", 0).leadership.slots) == 2)  # type: ignore[union-attr]
        finally:
            cluster.drop()

    run(test)
