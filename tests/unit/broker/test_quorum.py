"""Three real nodes in one loop: they elect, replicate the metadata, hand requests on, and go on without one of them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.node import Node
from barnabas.broker.quorum import metadata_log, replay
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import METADATA_TOPIC, ZERO_UUID
from barnabas.wire import apis
from tests.unit.broker.cluster import Cluster, ask, free_ports, run, until
from tests.unit.broker.small_disk import SmallGround

QUORUM = {"topics": [{"topic_name": METADATA_TOPIC, "partitions": [{"partition_index": 0}]}]}


def new_topic(name: str, partitions: int = 1, factor: int = -1) -> dict[str, Any]:
    topic = {
        "name": name,
        "num_partitions": partitions,
        "replication_factor": factor,
        "assignments": [],
        "configs": [],
    }
    return {"topics": [topic], "timeout_ms": 10_000, "validate_only": False}


def disks_are_known(cluster: Cluster) -> bool:
    leader = cluster.active()
    return leader is not None and all(voter.directory_id != ZERO_UUID for voter in leader.quorum.raft.voters.voters)


async def create(node: Node, name: str, partitions: int = 1, factor: int = -1) -> int:
    answer = await ask(node, apis.CREATE_TOPICS, 7, new_topic(name, partitions, factor))
    return int(answer.topics[0].error_code)


def test_every_node_knows_what_any_node_was_asked_for(tmp_path: Path) -> None:
    async def story() -> None:
        cluster = Cluster(tmp_path)
        await cluster.start()
        for number, node in cluster.nodes.items():
            assert len(node.image.live_brokers()) >= 1
            assert await create(node, f"of-{number}", 3) == 0
            assert f"of-{number}" in node.image.topics, "whoever asked finds what was made"
        assert await create(cluster.nodes[1], "of-2") == ErrorCode.TOPIC_ALREADY_EXISTS
        await until(lambda: all(len(node.image.topics) == 3 for node in cluster.nodes.values()))
        await until(lambda: len({node.image.offset for node in cluster.nodes.values()}) == 1)
        assert all(node.image == cluster.nodes[1].image for node in cluster.nodes.values())
        assert len({node.cluster_id for node in cluster.nodes.values()}) == 1
        cluster.drop()

    run(story)


@pytest.mark.parametrize("replayed_at_once", [0, 500])
def test_a_killed_controller_is_missed_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replayed_at_once: int
) -> None:
    monkeypatch.setattr(replay, "RECORDS_AT_ONCE", replayed_at_once)

    async def story() -> None:
        cluster = Cluster(tmp_path)
        await cluster.start()
        assert await create(cluster.nodes[1], "t", 6, 3) == 0
        gaps = []
        for _ in range(3):
            dead = await cluster.controller()
            await until(lambda: all(len(node.image.live_brokers()) == 3 for node in cluster.nodes.values()))
            loop = asyncio.get_running_loop()
            begun = loop.time()
            cluster.kill(dead.node_id)
            fresh = await cluster.controller()
            await until(lambda: not fresh.image.is_alive(dead.node_id))  # noqa: B023
            gaps.append(loop.time() - begun)
            leaders = {partition.leader for partition in fresh.image.topics["t"].partitions}
            assert dead.node_id not in leaders and -1 not in leaders
            assert await create(cluster.others(fresh)[0], f"after-{dead.node_id}-{len(gaps)}") == 0
            await cluster.start(dead.node_id)
            assert cluster.nodes[dead.node_id].image.is_alive(dead.node_id)
        assert min(gaps) < 1, gaps  # a leader that is only silent is waited for two seconds
        cluster.drop()

    run(story)


def test_a_killed_broker_is_fenced_at_once(tmp_path: Path) -> None:
    async def story() -> None:
        cluster = Cluster(tmp_path)
        await cluster.start()
        controller = await cluster.controller()
        victim = cluster.others(controller)[0]
        await until(lambda: len(controller.image.live_brokers()) == 3)
        loop = asyncio.get_running_loop()
        begun = loop.time()
        cluster.kill(victim.node_id)
        await until(lambda: not controller.image.is_alive(victim.node_id))
        assert loop.time() - begun < 3  # far less than broker.session.timeout.ms
        cluster.drop()

    run(story)


def test_a_silent_broker_is_fenced_after_its_session(tmp_path: Path) -> None:
    async def story() -> None:
        cluster = Cluster(tmp_path, broker_session_timeout_ms="1000", broker_heartbeat_interval_ms="200")
        await cluster.start()
        controller = await cluster.controller()
        silent, other = cluster.others(controller)
        assert silent.lifecycle._task is not None
        silent.lifecycle._task.cancel()
        await until(lambda: not controller.image.is_alive(silent.node_id))
        assert controller.image.is_alive(other.node_id) and controller.image.is_alive(controller.node_id)
        silent.lifecycle.start_beating()
        await until(lambda: controller.image.is_alive(silent.node_id))
        cluster.drop()

    run(story)


def test_a_node_that_stops_hands_over_first(tmp_path: Path) -> None:
    async def story() -> None:
        cluster = Cluster(tmp_path)
        await cluster.start()
        controller = await cluster.controller()
        await until(lambda: len(controller.image.live_brokers()) == 3)
        assert await create(controller, "t", 9, 3) == 0
        loop = asyncio.get_running_loop()
        begun = loop.time()
        await cluster.nodes.pop(controller.node_id).stop()
        assert loop.time() - begun < 5
        fresh = await cluster.controller()
        await until(lambda: not fresh.image.is_alive(controller.node_id))
        assert controller.node_id not in {partition.leader for partition in fresh.image.topics["t"].partitions}
        await cluster.start(controller.node_id)
        again = cluster.nodes[controller.node_id]
        assert again.last_stop.broker_epoch >= 0 and again.data.clean
        cluster.drop()

    run(story)


@pytest.mark.parametrize("replayed_at_once", [0, 500])
def test_all_stop_and_start_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replayed_at_once: int) -> None:
    monkeypatch.setattr(replay, "RECORDS_AT_ONCE", replayed_at_once)

    async def story() -> None:
        cluster = Cluster(tmp_path)
        await cluster.start()
        assert await create(cluster.nodes[2], "t", 3, 3) == 0
        cluster_id = cluster.nodes[1].cluster_id
        await cluster.stop()
        await cluster.start()
        for node in cluster.nodes.values():
            assert "t" in node.image.topics and node.cluster_id == cluster_id
        for number in cluster.ports:
            cluster.kill(number)
        await cluster.start()
        assert all("t" in node.image.topics for node in cluster.nodes.values())
        cluster.drop()

    run(story)


def test_the_voters_disks_become_known(tmp_path: Path) -> None:
    """controller.quorum.voters names no disks; each voter tells its own."""

    async def story() -> None:
        cluster = Cluster(tmp_path, controller_quorum_fetch_timeout_ms="500")
        await cluster.start()
        await until(lambda: disks_are_known(cluster))
        node = await cluster.controller()
        answer = await ask(cluster.others(node)[0], apis.DESCRIBE_QUORUM, 2, QUORUM)
        (partition,) = answer.topics[0].partitions
        # 500 ms without a fetch is an election here, and a busy machine may pause a node that long.
        assert partition.leader_id in {node.node_id, (await cluster.controller()).node_id}
        assert len(partition.current_voters) == 3
        known = {voter.replica_id: voter.replica_directory_id for voter in partition.current_voters}
        assert known == {other.node_id: other.data.directory_id for other in cluster.nodes.values()}
        assert {found.node_id for found in answer.nodes} == {1, 2, 3}
        cluster.drop()

    run(story)


def test_an_empty_disk_is_filled_and_votes_again(tmp_path: Path) -> None:
    async def story() -> None:
        cluster = Cluster(tmp_path, controller_quorum_fetch_timeout_ms="500")
        await cluster.start()
        await until(lambda: disks_are_known(cluster))
        controller = await cluster.controller()
        while (code := await create(controller, "t", 1, 3)) == ErrorCode.NOT_CONTROLLER:
            controller = await cluster.controller()  # a slow machine elects another within these 500 ms
        assert code == 0
        victim = cluster.others(controller)[0]
        old = victim.data.directory_id
        cluster.kill(victim.node_id)
        (tmp_path / str(victim.node_id)).rename(tmp_path / "lost")
        await cluster.start(victim.node_id)
        fresh = cluster.nodes[victim.node_id]
        assert fresh.data.directory_id != old and "t" in fresh.image.topics and fresh.cluster_id == victim.cluster_id

        def votes() -> bool:
            leader = cluster.active() or controller
            voter = leader.quorum.raft.voters.get(fresh.node_id)
            return voter is not None and voter.directory_id == fresh.data.directory_id

        await until(votes)
        cluster.drop()

    run(story)


def test_nodes_join_a_cluster_by_its_address(tmp_path: Path) -> None:
    """A cluster of one grows: the second node is a broker that only follows, the third becomes a voter."""

    async def story() -> None:
        cluster = Cluster(tmp_path, controller_quorum_fetch_timeout_ms="500")
        first, *_ = cluster.ports.values()
        joining = {"controller.quorum.voters": "", "controller.quorum.bootstrap.servers": f"127.0.0.1:{first}"}
        cluster.more = {
            1: {"controller.quorum.voters": ""},
            2: joining | {"process.roles": "broker"},
            3: joining | {"controller.quorum.auto.join.enable": "true"},
        }
        await cluster.start(1)
        assert await create(cluster.nodes[1], "before") == 0
        await cluster.start(2, 3)
        assert all("before" in node.image.topics for node in cluster.nodes.values())
        assert await create(cluster.nodes[2], "after", 3, 3) == 0
        raft = cluster.nodes[1].quorum.raft
        await until(lambda: sorted(raft.voters.by_id) == [1, 3])
        answer = await ask(cluster.nodes[2], apis.DESCRIBE_QUORUM, 2, QUORUM)
        (partition,) = answer.topics[0].partitions
        assert [replica.replica_id for replica in partition.observers] == [2]
        gone = {"cluster_id": None, "voter_id": 3, "voter_directory_id": cluster.nodes[3].data.directory_id}
        assert (await ask(cluster.nodes[2], apis.REMOVE_RAFT_VOTER, 0, gone)).error_code == 0
        await until(lambda: sorted(cluster.nodes[2].quorum.raft.voters.by_id) == [1])
        await asyncio.sleep(0.5)
        assert sorted(raft.voters.by_id) == [1], "one that was removed does not come back by itself"
        cluster.drop()

    run(story)


@pytest.mark.parametrize("replayed_at_once", [0, 500])
def test_a_node_far_behind_takes_a_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replayed_at_once: int
) -> None:
    monkeypatch.setattr(replay, "RECORDS_AT_ONCE", replayed_at_once)
    monkeypatch.setattr(metadata_log, "SNAPSHOT_AFTER_RECORDS", 30)

    async def story() -> None:
        cluster = Cluster(tmp_path)
        await cluster.start()
        controller = await cluster.controller()
        late = cluster.others(controller)[0]
        cluster.kill(late.node_id)
        for number in range(60):
            assert await create(controller, f"t{number}") == 0
        await until(lambda: controller.metadata_log.log.log_start_offset > late.image.offset + 1)
        await cluster.start(late.node_id)
        again = cluster.nodes[late.node_id]
        assert len(again.image.topics) == 60 and again.metadata_log.log.log_start_offset > late.image.offset
        assert await create(again, "one-more") == 0
        await until(lambda: all(len(node.image.topics) == 61 for node in cluster.nodes.values()))
        assert again.image == controller.image
        await cluster.stop()
        await cluster.start()
        assert all(len(node.image.topics) == 61 for node in cluster.nodes.values())
        cluster.drop()

    run(story)


def test_without_a_majority_nothing_is_decided(tmp_path: Path) -> None:
    async def story() -> None:
        cluster = Cluster(tmp_path, controller_quorum_fetch_timeout_ms="200")
        await cluster.start()
        controller = await cluster.controller()
        for other in cluster.others(controller):
            cluster.kill(other.node_id)
        await until(lambda: not controller.controller.is_active)
        with pytest.raises(KafkaError) as refused:
            await controller.controller.ask(apis.CREATE_TOPICS, 7, new_topic("lost"), timeout_ms=300)
        assert refused.value.code is ErrorCode.NOT_CONTROLLER
        cluster.drop()

    run(story)


def test_the_controllers_have_a_listener_of_their_own(tmp_path: Path) -> None:
    """Controllers apart from brokers, the quorum on its own port and not on the clients'."""

    async def story() -> None:
        cluster = Cluster(tmp_path, count=3)
        quorum = dict(zip(cluster.ports, free_ports(3), strict=True))
        voters = ",".join(f"{number}@127.0.0.1:{quorum[number]}" for number in (1, 2))
        for number, port in cluster.ports.items():
            listeners = f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{quorum[number]}"
            cluster.more[number] = {"controller.quorum.voters": voters, "listeners": listeners}
        cluster.more[1] |= {"process.roles": "controller", "listeners": f"CONTROLLER://127.0.0.1:{quorum[1]}"}
        cluster.more[3] |= {"process.roles": "broker", "listeners": f"PLAINTEXT://127.0.0.1:{cluster.ports[3]}"}
        await cluster.start()
        assert await create(cluster.nodes[3], "t", 2, 2) == 0
        assert sorted(cluster.nodes[3].image.brokers) == [2, 3] and not cluster.nodes[1].endpoints
        beat = {"broker_id": 3, "broker_epoch": 1, "current_metadata_offset": 1, "want_fence": True}
        assert cluster.nodes[1].bootstrap == f"127.0.0.1:{quorum[1]}"  # what `up -q` prints
        controllers = {"include_cluster_authorized_operations": False, "endpoint_type": 2}
        for number, code in ((2, 114), (3, 114)):  # MISMATCHED_ENDPOINT_TYPE: a listener of brokers
            assert (await ask(cluster.nodes[number], apis.DESCRIBE_CLUSTER, 1, controllers)).error_code == code
        with pytest.raises(asyncio.IncompleteReadError):  # the connection is closed
            await ask(cluster.nodes[2], apis.BROKER_HEARTBEAT, 1, beat | {"want_shut_down": False})
        cluster.drop()

    run(story)


def test_a_topic_made_for_a_client_has_the_brokers_partitions(tmp_path: Path) -> None:
    """The controller is another process, whose num.partitions counts where none was set for the broker."""

    async def story() -> None:
        cluster = Cluster(tmp_path, count=3)
        voters = f"1@127.0.0.1:{cluster.ports[1]}"
        for number in cluster.ports:
            cluster.more[number] = {"controller.quorum.voters": voters, "process.roles": "broker"}
        cluster.more[1] |= {"process.roles": "controller", "num.partitions": "5"}
        cluster.more[2] |= {"num.partitions": "3", "default.replication.factor": "2"}
        await cluster.start()
        for number, partitions, replicas in ((2, 3, 2), (3, 5, 2)):
            body = {"topics": [{"name": f"of-{number}"}], "allow_auto_topic_creation": True}
            (topic,) = (await ask(cluster.nodes[number], apis.METADATA, 9, body)).topics
            assert (len(topic.partitions), len(topic.partitions[0].replica_nodes)) == (partitions, replicas)
        cluster.drop()

    run(story)


@pytest.mark.parametrize("count", [1, 3])
def test_a_full_disk_stops_decisions_until_there_is_room(tmp_path: Path, count: int) -> None:
    """Once the space kept for the metadata log is used up. The node stays up, and what was asked for meanwhile is done
    when there is room, or by another controller."""

    async def story() -> None:
        cluster = Cluster(tmp_path, count)
        grounds = {number: SmallGround() for number in cluster.ports}
        cluster.grounds = dict(grounds)
        await cluster.start()
        controller = await cluster.controller()
        disk = grounds[controller.node_id].small
        disk.reserve_bytes = 0
        disk.full = True
        asked = asyncio.ensure_future(create(controller, "t"))
        await asyncio.sleep(0.3)
        assert not asked.done() and controller.failure is None
        disk.full = False
        assert await asked == 0
        await until(lambda: all("t" in node.image.topics for node in cluster.nodes.values()))
        assert not any(node.failure for node in cluster.nodes.values())
        cluster.drop()

    run(story)


def test_decisions_go_on_in_the_space_kept_for_them(tmp_path: Path) -> None:
    async def story() -> None:
        cluster = Cluster(tmp_path, 1)
        platform = SmallGround()
        cluster.grounds = {1: platform}
        await cluster.start()
        controller = await cluster.controller()
        platform.small.full = True
        assert await create(controller, "t") == 0
        assert controller.failure is None
        cluster.drop()

    run(story)
