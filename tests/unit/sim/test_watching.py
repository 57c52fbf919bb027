"""What is looked at inside running nodes: three of them, in which the test breaks one thing at a time, as a defect
would. Each checker finds its own, and none finds anything before."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import pytest

from barnabas.broker.partition.opened import OpenPartition
from barnabas.broker.quorum.state_file import FILE
from barnabas.sim import inspection
from barnabas.sim.checkers import inside, s4_decision_first, s9_nothing_left
from barnabas.sim.checkers.s1_one_leader import Leaders
from barnabas.sim.checkers.s8_work_goes_on import SILENT_SECONDS
from barnabas.sim.inspection import QuorumState
from barnabas.sim.platter import File, Folder
from barnabas.sim.scenarios.cluster import ClusterScenario
from barnabas.sim.workloads.base import Workload
from barnabas.sim.workloads.idempotent_producer import IdempotentProducer
from barnabas.sim.world import World

TOPIC = "flushed"


@pytest.fixture(scope="module")
def running() -> Iterator[World]:
    """A few simulated seconds of the general scenario without a fault."""
    scenario = ClusterScenario(1)
    world = scenario.make_world(1, 3)
    scenario.prepare(world)
    with world:
        for computer in world.computers:
            computer.start()
        assert world.run_until(lambda: all(computer.ready for computer in world.computers), 30)
        scenario.begin(world)
        world.run_for(6.0)
        yield world


@pytest.fixture
def world(running: World) -> Iterator[World]:
    """Nothing is wrong in it before a test, and nothing that one has broken stays."""
    watches = (running.leaders, running.votes, running.committed, running.same_bytes, running.watermarks)
    _look(running)
    assert [problem for watch in watches for problem in watch.problems] == []
    yield running
    for watch in (*watches, running.work_goes_on):
        watch.problems.clear()


def _look(world: World) -> None:
    world.same_bytes.look(again=True)
    world.health.look()
    world.committed.look()
    for computer in world.computers:
        world.votes.look(computer)
        world.leaders.look_at_quorum(computer)
        for replica in inspection.replicas(computer):
            world.leaders.look(computer, replica.partition)
            world.watermarks.look(computer, replica)


def replica(world: World, *, led: bool) -> tuple[int, OpenPartition]:
    """One of the topic's first partition, on whoever leads it or on another, with the node's number."""
    for computer in world.computers:
        for found in inspection.replicas(computer):
            if tuple(found.id) == (TOPIC, 0) and found.partition.is_leader == led:
                return computer.number, found
    raise AssertionError("no such replica")


def test_other_bytes_on_one_replica_are_found(world: World) -> None:
    assert world.same_bytes.compared > 20
    number, _ = replica(world, led=False)
    computer = world.computers[number - 1]
    folder = computer.platter.find(f"{computer.data_dir}/{TOPIC}-0")
    assert isinstance(folder, Folder)
    file = folder.live[min(name for name in folder.live if name.endswith(".log"))]
    assert isinstance(file, File)
    file.live[70] ^= 1
    world.same_bytes.look(again=True)
    file.live[70] ^= 1
    (problem,) = world.same_bytes.problems
    assert problem.startswith(f"S2 ('{TOPIC}', 0) offset 0: other bytes on ")


def test_a_replica_in_sync_without_what_is_committed_is_found(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    number, follower = replica(world, led=False)
    monkeypatch.setattr(follower.log, "log_end_offset", 1)
    world.committed.look()
    (problem,) = [each for each in world.committed.problems if f"node{number}" in each]
    assert problem.endswith("which is in sync, ends at 1")


def test_fewer_copies_than_min_insync_replicas_are_found(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    _, leader = replica(world, led=True)
    image = world.newest_image()
    partition = image.partition(TOPIC, 0) if image is not None else None
    assert partition is not None
    world.committed._look_at_holders(leader, partition)
    assert world.committed.problems == []
    for computer in world.computers:
        for found in inspection.replicas(computer):
            if tuple(found.id) == (TOPIC, 0) and found is not leader:
                monkeypatch.setattr(found.log, "log_end_offset", 0)
    world.committed._look_at_holders(leader, partition)
    (problem,) = world.committed.problems
    assert problem.endswith("and 2 are to have it")


def test_a_high_watermark_that_falls_or_passes_the_end_is_found(world: World) -> None:
    number, found = replica(world, led=True)
    computer, right = world.computers[number - 1], found.high_watermark
    for wrong in (right - 1, found.log.log_end_offset + 5):
        found.high_watermark = wrong
        world.watermarks.look(computer, found)
    found.high_watermark = right
    world.watermarks.look(computer, found)
    assert any("the high watermark fell from" in each for each in world.watermarks.problems)
    assert any("log end" in each for each in world.watermarks.problems)


def test_a_vote_that_is_not_on_disk_is_found(world: World) -> None:
    computer = world.computers[0]
    folder = next(each for each in _folders(computer.platter.find(str(computer.data_dir))) if FILE in each.live)
    file = folder.live[FILE]
    assert isinstance(file, File)
    right = bytes(file.stable)
    told = json.loads(right)
    file.stable[:] = json.dumps(told | {"leaderEpoch": told["leaderEpoch"] + 1}).encode()
    world.votes._looked_at.clear()
    world.votes.look(computer)
    file.stable[:] = right
    (problem,) = world.votes.problems
    assert problem.startswith("S4 node1: epoch ") and "on its disk" in problem


def _folders(found: File | Folder | None) -> Iterator[Folder]:
    if isinstance(found, Folder):
        yield found
        for each in found.live.values():
            yield from _folders(each)


def test_two_controllers_of_an_epoch_and_one_that_falls_are_found(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaders = Leaders(world)
    monkeypatch.setattr(inspection, "quorum", lambda computer: QuorumState(9000, computer.number, 0, 0))
    for computer in world.computers[:2]:
        leaders.look_at_quorum(computer)
    monkeypatch.setattr(inspection, "quorum", lambda computer: QuorumState(2, 1, 0, 0))
    leaders.look_at_quorum(world.computers[1])
    assert leaders.problems == [
        "S1 epoch 9000 of the quorum: node1 and node2 lead it",
        "S1 node2: the quorum's epoch fell from 9000 to 2",
    ]


def test_a_replica_that_believes_to_lead_is_found(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    number, follower = replica(world, led=False)
    monkeypatch.setattr(type(follower.partition), "is_leader", True)
    world.leaders.look(world.computers[number - 1], follower.partition)
    (problem,) = world.leaders.problems
    assert problem.endswith(f"node{number} for node{number} itself")


def test_a_producer_that_does_not_get_on_is_found(world: World) -> None:
    world.health.look()
    assert world.health.well == {1, 2, 3}
    producer = next(each for each in world.workloads if isinstance(each, IdempotentProducer))
    since, progress, begun = world.health.since, world.history.progress[producer.name], producer.begun
    world.health.since, world.history.progress[producer.name], producer.begun = 0.0, [1.0], 0.0
    for _ in range(2):  # said once
        world.work_goes_on.look()
    world.health.since, world.history.progress[producer.name], producer.begun = since, progress, begun
    (problem,) = world.work_goes_on.problems
    assert problem.startswith(f"S8 {producer.name} has not got on for ")
    assert world.loop.now > SILENT_SECONDS


class Stubborn(Workload):
    async def step(self) -> None:
        await asyncio.sleep(10_000)


def test_what_stays_connected_is_found_and_those_who_cannot_finish(running: World) -> None:
    """The last test: the clients end."""
    world = running
    assert all(list(s4_decision_first.check(computer.node)) == [] for computer in world.computers if computer.node)
    assert any("are connected, nobody is there" in each for each in s9_nothing_left.check(world))
    healed = world.loop.now
    assert list(inside.progress(world, healed)) == []
    Stubborn(world, "stubborn")
    world.run_for(1.0)
    assert list(inside.finished(world.workloads)) == ["S8 stubborn cannot finish"]
    world.run_for(12.0)
    assert list(inside.nothing_hangs(world)) == []
    assert list(s9_nothing_left.check(world)) == []
