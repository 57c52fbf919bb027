"""Three real nodes in one loop: groups and transactions whose coordinators move, by a kill or by an election."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from barnabas.broker.node import Node
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import OFFSETS_TOPIC, TRANSACTION_TOPIC
from barnabas.wire import apis
from barnabas.wire.batch import iter_batches
from barnabas.wire.records import iter_records
from tests.unit.broker.cluster import Cluster, ask, run, until
from tests.unit.broker.test_replication import batch, create, isr, leader_of, produced, replicas, same

GROUP, TRANSACTION = 0, 1
AGAIN = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
    }
)


async def coordinator(cluster: Cluster, key: str, kind: int) -> Node:
    """As a client finds it: any node is asked, until it names one that is there."""
    while True:
        for node in list(cluster.nodes.values()):
            found = await ask(node, apis.FIND_COORDINATOR, 4, {"key_type": kind, "coordinator_keys": [key]})
            if found.coordinators[0].error_code == 0 and found.coordinators[0].node_id in cluster.nodes:
                return cluster.nodes[found.coordinators[0].node_id]
        await asyncio.sleep(0.02)


async def patiently(
    cluster: Cluster, key: str, kind: int, api: tuple[int, int], body: dict[str, Any], code: Callable[[Any], int]
) -> Any:
    """Ask the coordinator, whoever it is, until it does not say "come again"."""
    while True:
        try:
            answer = await ask(await coordinator(cluster, key, kind), *api, body)
            if code(answer) not in AGAIN:
                return answer
        except (OSError, asyncio.IncompleteReadError):
            pass
        await asyncio.sleep(0.02)


def top(answer: Any) -> int:
    return int(answer.error_code)


# --- transactions ---------------------------------------------------------------------------------------------------


class Cashier:
    """A transactional producer of either generation."""

    def __init__(self, cluster: Cluster, name: str = "cashier", *, new: bool = True) -> None:
        self.cluster, self.name, self.new = cluster, name, new
        self.producer = (-1, -1)
        self.sequences: dict[int, int] = {}

    async def ask(self, api: tuple[int, int], body: dict[str, Any], code: Callable[[Any], int] = top) -> Any:
        return await patiently(self.cluster, self.name, TRANSACTION, api, body, code)

    async def init(self) -> None:
        body = {"transactional_id": self.name, "transaction_timeout_ms": 20_000, "producer_id": -1}
        answer = await self.ask((apis.INIT_PRODUCER_ID, 4), body | {"producer_epoch": -1})
        assert answer.error_code == 0
        self.producer = (answer.producer_id, answer.producer_epoch)
        self.sequences.clear()

    async def write(self, index: int, value: bytes) -> None:
        if not self.new:
            body = {
                "v3_and_below_transactional_id": self.name,
                "v3_and_below_producer_id": self.producer[0],
                "v3_and_below_producer_epoch": self.producer[1],
                "v3_and_below_topics": [{"name": "t", "partitions": [index]}],
            }
            await self.ask((apis.ADD_PARTITIONS_TO_TXN, 3), body, _added)
        sequence = self.sequences.get(index, 0)
        while True:
            node = await leader_of(self.cluster, "t", index)
            data = batch([value], (*self.producer, sequence), transactional=True)
            topic = {"name": "t", "partition_data": [{"index": index, "records": data}]}
            body = {"transactional_id": self.name, "acks": -1, "timeout_ms": 5000, "topic_data": [topic]}
            try:
                answer = await ask(node, apis.PRODUCE, 12 if self.new else 10, body)
                code = answer.responses[0].partition_responses[0].error_code
                if code == 0:
                    self.sequences[index] = sequence + 1
                    return
                assert code in AGAIN, ErrorCode(code)
            except (OSError, asyncio.IncompleteReadError):
                pass
            await asyncio.sleep(0.02)

    async def end(self, commit: bool) -> None:
        body = {
            "transactional_id": self.name,
            "producer_id": self.producer[0],
            "producer_epoch": self.producer[1],
            "committed": commit,
        }
        answer = await self.ask((apis.END_TXN, 5 if self.new else 3), body)
        assert answer.error_code == 0, ErrorCode(answer.error_code)
        if self.new:
            self.producer = (answer.producer_id, answer.producer_epoch)
            self.sequences.clear()


def _added(answer: Any) -> int:
    return int(answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code)


async def committed(cluster: Cluster, index: int) -> list[bytes]:
    """What a read_committed reader gets, once nothing is open."""
    node = await leader_of(cluster, "t", index)
    hosted = node.partitions.get("t", index)
    assert hosted is not None
    partition = hosted.open()
    await until(lambda: partition.last_stable_offset == partition.log.log_end_offset)
    topic = {"topic": "t", "partitions": [{"partition": index, "fetch_offset": 0, "partition_max_bytes": 1 << 20}]}
    body = {"isolation_level": 1, "max_wait_ms": 0, "max_bytes": 1 << 20, "topics": [topic]}
    answer = await ask(node, apis.FETCH, 11, body)
    part = answer.responses[0].partitions[0]
    assert part.error_code == 0
    aborted = sorted((each.first_offset, each.producer_id) for each in part.aborted_transactions or ())
    data, found, skipping = bytes(part.records or b""), [], set()
    for position, header in iter_batches(data):
        while aborted and aborted[0][0] <= header.base_offset:
            skipping.add(aborted.pop(0)[1])
        if header.is_control:
            skipping.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in skipping):
            found += [record.value or b"" for record in iter_records(memoryview(data)[position:][: header.size])]
    return found


def cluster_test(
    test: Callable[[Cluster], Awaitable[None]], folder: Path, settings: dict[str, str] | None = None
) -> None:
    async def inside() -> None:
        cluster = Cluster(folder, 3, offsets_topic_num_partitions="3", transaction_state_log_num_partitions="3")
        cluster.settings |= settings or {}
        await cluster.start()
        try:
            await create(cluster, partitions=3)
            await test(cluster)
        finally:
            cluster.drop()

    run(inside)


def test_a_transaction_over_all_nodes(tmp_path: Path) -> None:
    async def test(cluster: Cluster) -> None:
        for new in (True, False):
            cashier = Cashier(cluster, f"cashier {new}", new=new)
            await cashier.init()
            for commit in (True, False, True):
                for index in range(3):
                    await cashier.write(index, b"kept" if commit else b"dropped")
                await cashier.end(commit)
        leaders = {(await leader_of(cluster, "t", index)).node_id for index in range(3)}
        assert leaders == {1, 2, 3}, "or this test shows nothing"
        for index in range(3):
            assert await committed(cluster, index) == [b"kept"] * 4
            await until(lambda index=index: same(cluster, index=index))  # type: ignore[misc]

    cluster_test(test, tmp_path)


def test_a_transaction_outlives_its_coordinator(tmp_path: Path) -> None:
    """It dies in the middle, right behind the answer, and right before it; each transaction is whole or not at all."""

    async def test(cluster: Cluster) -> None:
        cashier = Cashier(cluster)
        await cashier.init()
        for number, commit in enumerate((True, False, True, True)):
            victim = await coordinator(cluster, "cashier", TRANSACTION)
            await cashier.write(0, b"%d" % number)
            if number % 2 == 0:
                cluster.kill(victim.node_id)
            for index in (1, 2):
                await cashier.write(index, b"%d" % number)
            if number % 2 == 0:
                await cashier.end(commit)
            else:
                ending = asyncio.ensure_future(cashier.end(commit))
                await asyncio.sleep(0.002)
                cluster.kill(victim.node_id)
                await ending
            await cluster.start(victim.node_id)
            await until(lambda: isr(cluster, TRANSACTION_TOPIC) == {1, 2, 3})
        for index in range(3):
            assert await committed(cluster, index) == [b"0", b"2", b"3"]

    cluster_test(test, tmp_path)


def test_markers_find_the_leader_that_is_there_when_they_can_be_written(tmp_path: Path) -> None:
    """A leader dies under the markers: they go to the next one, and the transaction ends there."""

    async def test(cluster: Cluster) -> None:
        cashier = Cashier(cluster)
        await cashier.init()
        for index in range(3):
            await cashier.write(index, b"a")
        home = await coordinator(cluster, "cashier", TRANSACTION)
        leaders = [await leader_of(cluster, "t", index) for index in range(3)]
        victim = next(node for node in leaders if node is not home)
        ending = asyncio.ensure_future(cashier.end(True))
        await asyncio.sleep(0)
        cluster.kill(victim.node_id)
        await ending
        for index in range(3):
            assert await committed(cluster, index) == [b"a"]
        await cashier.write(0, b"b")
        await cashier.end(True)
        assert await committed(cluster, 0) == [b"a", b"b"]

    cluster_test(test, tmp_path)


def test_an_abandoned_transaction_ends_although_its_coordinator_died(tmp_path: Path) -> None:
    async def test(cluster: Cluster) -> None:
        cashier = Cashier(cluster)
        body = {"transactional_id": "cashier", "transaction_timeout_ms": 1500, "producer_id": -1, "producer_epoch": -1}
        answer = await cashier.ask((apis.INIT_PRODUCER_ID, 4), body)
        cashier.producer = (answer.producer_id, answer.producer_epoch)
        await cashier.write(0, b"forgotten")
        cluster.kill((await coordinator(cluster, "cashier", TRANSACTION)).node_id)
        assert await committed(cluster, 0) == []

    cluster_test(test, tmp_path, {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "500"})


# --- groups ---------------------------------------------------------------------------------------------------------


async def commit_offset(cluster: Cluster, group: str, offset: int, member: str = "", generation: int = -1) -> None:
    partition = {"partition_index": 0, "committed_offset": offset, "committed_metadata": f"at {offset}"}
    body = {
        "group_id": group,
        "generation_id_or_member_epoch": generation,
        "member_id": member,
        "topics": [{"name": "t", "partitions": [partition]}],
    }
    answer = await patiently(
        cluster, group, GROUP, (apis.OFFSET_COMMIT, 8), body, lambda a: int(a.topics[0].partitions[0].error_code)
    )
    assert answer.topics[0].partitions[0].error_code == 0


async def committed_offset(cluster: Cluster, group: str) -> int:
    body = {
        "groups": [{"group_id": group, "topics": [{"name": "t", "partition_indexes": [0]}]}],
        "require_stable": True,
    }
    answer = await patiently(cluster, group, GROUP, (apis.OFFSET_FETCH, 8), body, lambda a: int(a.groups[0].error_code))
    return int(answer.groups[0].topics[0].partitions[0].committed_offset)


async def join(cluster: Cluster, group: str) -> tuple[str, int]:
    body = {
        "group_id": group,
        "session_timeout_ms": 20_000,
        "rebalance_timeout_ms": 20_000,
        "member_id": "",
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": b""}],
    }
    answer = await patiently(cluster, group, GROUP, (apis.JOIN_GROUP, 5), body, top)
    body["member_id"] = answer.member_id
    answer = await patiently(cluster, group, GROUP, (apis.JOIN_GROUP, 5), body, top)
    assert answer.error_code == 0
    shares = [{"member_id": answer.member_id, "assignment": b"mine"}]
    told = {"group_id": group, "generation_id": answer.generation_id, "member_id": answer.member_id}
    synced = await patiently(cluster, group, GROUP, (apis.SYNC_GROUP, 3), told | {"assignments": shares}, top)
    assert bytes(synced.assignment) == b"mine"
    return str(answer.member_id), int(answer.generation_id)


def test_a_group_outlives_its_coordinator(tmp_path: Path) -> None:
    async def test(cluster: Cluster) -> None:
        member, generation = await join(cluster, "g")
        await commit_offset(cluster, "g", 7, member, generation)
        for offset in (8, 9):
            victim = await coordinator(cluster, "g", GROUP)
            cluster.kill(victim.node_id)
            assert await committed_offset(cluster, "g") == offset - 1
            beat = {"group_id": "g", "generation_id": generation, "member_id": member}
            answer = await patiently(cluster, "g", GROUP, (apis.HEARTBEAT, 3), beat, top)
            assert answer.error_code == 0, "the member keeps its place: it has nothing to rejoin for"
            await commit_offset(cluster, "g", offset, member, generation)
            await cluster.start(victim.node_id)
            await until(lambda: all(isr(cluster, OFFSETS_TOPIC, index) == {1, 2, 3} for index in range(3)))
        assert await committed_offset(cluster, "g") == 9

    cluster_test(test, tmp_path)


def test_a_coordinator_that_loses_an_election_says_so_and_is_the_same_when_it_wins_again(tmp_path: Path) -> None:
    """Nobody dies: leadership goes away by a move of the preferred replica, and comes back."""

    async def test(cluster: Cluster) -> None:
        await commit_offset(cluster, "g", 1)
        first = await coordinator(cluster, "g", GROUP)
        index = first.groups.index_of("g")
        for offset in range(2, 6):
            old = await coordinator(cluster, "g", GROUP)
            others = [n for n in (1, 2, 3) if n != old.node_id]
            await elect(cluster, OFFSETS_TOPIC, index, [*others, old.node_id])
            await until(lambda old=old: old.partitions.get(OFFSETS_TOPIC, index) is None)  # type: ignore[misc]
            assert index not in old.groups._hosted, "the machine went with the leadership"
            told = await ask(old, apis.HEARTBEAT, 3, {"group_id": "g", "generation_id": 1, "member_id": "m"})
            assert told.error_code == ErrorCode.NOT_COORDINATOR
            assert await committed_offset(cluster, "g") == offset - 1
            await commit_offset(cluster, "g", offset)
        assert await committed_offset(cluster, "g") == 5

    cluster_test(test, tmp_path)


def test_offsets_of_a_transaction_are_the_groups_when_it_commits(tmp_path: Path) -> None:
    """Group and transaction coordinated on different nodes; the group's coordinator dies before the commit."""

    async def test(cluster: Cluster) -> None:
        cashier = Cashier(cluster)
        await cashier.init()
        home = await coordinator(cluster, "cashier", TRANSACTION)
        await commit_offset(cluster, "g0", 0)
        group = next(
            name for name in (f"g{n}" for n in range(50)) if (await_leader(cluster, name)) not in (home.node_id, -1)
        )
        for offset, commit in ((5, True), (6, False), (7, True)):
            partition = {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}
            body = {
                "transactional_id": "cashier",
                "group_id": group,
                "producer_id": cashier.producer[0],
                "producer_epoch": cashier.producer[1],
                "generation_id": -1,
                "member_id": "",
                "topics": [{"name": "t", "partitions": [partition]}],
            }
            answer = await patiently(
                cluster,
                group,
                GROUP,
                (apis.TXN_OFFSET_COMMIT, 5),
                body,
                lambda a: int(a.topics[0].partitions[0].error_code),
            )
            assert answer.topics[0].partitions[0].error_code == 0
            if offset == 5:
                victim = await coordinator(cluster, group, GROUP)
                cluster.kill(victim.node_id)
            await cashier.end(commit)
            if offset == 5:
                await cluster.start(victim.node_id)
        async with asyncio.timeout(5):
            while await committed_offset(cluster, group) != 7:
                await asyncio.sleep(0.02)

    cluster_test(test, tmp_path)


def await_leader(cluster: Cluster, group: str) -> int:
    node = next(iter(cluster.nodes.values()))
    partition = node.image.partition(OFFSETS_TOPIC, node.groups.index_of(group))
    return -1 if partition is None else partition.leader


# --- moves ----------------------------------------------------------------------------------------------------------


async def elect(cluster: Cluster, topic: str, index: int, replicas_: list[int]) -> None:
    """A new order of the replicas, and the first of them leads."""
    node = await cluster.controller()
    await move(cluster, topic, index, replicas_)
    wanted = [{"topic": topic, "partitions": [index]}]
    body = {"election_type": 0, "topic_partitions": wanted, "timeout_ms": 5000}
    answer = await ask(node, apis.ELECT_LEADERS, 2, body)
    assert answer.replica_election_results[0].partition_result[0].error_code in (0, ErrorCode.ELECTION_NOT_NEEDED)


async def move(cluster: Cluster, topic: str, index: int, replicas_: list[int] | None) -> None:
    partitions = [{"partition_index": index, "replicas": replicas_}]
    body = {"timeout_ms": 5000, "topics": [{"name": topic, "partitions": partitions}]}
    for node in list(cluster.nodes.values())[:1]:  # any node takes it
        answer = await ask(node, apis.ALTER_PARTITION_REASSIGNMENTS, 0, body)
        assert answer.error_code == 0 and answer.responses[0].partitions[0].error_code == 0, answer


def test_a_partition_moves_to_other_nodes(tmp_path: Path) -> None:
    async def test(cluster: Cluster) -> None:
        await produced(cluster, batch([b"a"]))
        leader = await leader_of(cluster)
        others = sorted({1, 2, 3} - {leader.node_id})
        await move(cluster, "t", 0, others)  # away from its leader, one replica fewer
        assert (await leader_of(cluster)).node_id in others
        await until(lambda: leader.partitions.hosted("t", 0) is None)
        await produced(cluster, batch([b"b"]))
        await move(cluster, "t", 0, [leader.node_id])
        nodes = list(cluster.nodes.values())
        await until(lambda: all(not_moving(node) for node in nodes))
        answer = await ask(nodes[0], apis.LIST_PARTITION_REASSIGNMENTS, 0, {"timeout_ms": 1000, "topics": None})
        assert answer.topics == []
        assert (await leader_of(cluster)) is leader
        (only,) = (replica.open() for replica in replicas(cluster))
        assert only.log.log_end_offset == 2 and only.high_watermark == 2

    def not_moving(node: Node) -> bool:
        partition = node.image.partition("t", 0)
        return partition is not None and not partition.is_moving and len(partition.replicas) == 1

    cluster_test(test, tmp_path)
