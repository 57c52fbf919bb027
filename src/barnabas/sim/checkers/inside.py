"""What is looked at inside the nodes: progress (S8), hanging transactions (S6), state rebuilt (S5)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from barnabas.broker.node import Node
from barnabas.broker.partition.partition import HostedPartition
from barnabas.core.groups.shard import GroupShard
from barnabas.core.txn.shard import TxnShard
from barnabas.model.ids import TopicPartition
from barnabas.sim import inspection
from barnabas.sim.workloads.base import Workload
from barnabas.sim.workloads.transactions import TransactionalProducer

if TYPE_CHECKING:
    from barnabas.sim.world import World

_RESUME_SECONDS = 12.0  # every client backs off at most a second; a request waits at most eight
_GET_ON = ("idempotent producer", "plain producer", "transactional producer", "back-to-back producer", "reader")


def progress(world: World, healed: float) -> Iterator[str]:
    """S8: once faults have stopped every client gets on. One that rests for long between two steps is waited for."""
    if world.run_until(
        lambda: not any(_stands_still(world, each, healed) for each in world.workloads), _RESUME_SECONDS
    ):
        return
    for workload in world.workloads:
        if _stands_still(world, workload, healed):
            last = max(world.history.progress.get(workload.name, ()), default=0.0)
            yield f"S8 {workload.name} has not got anywhere for {world.loop.now - last:.1f} s, faults are over"


def _stands_still(world: World, workload: Workload, healed: float) -> bool:
    if workload.kind not in _GET_ON or workload.finishing or held_up_by_damage(world, workload):
        return False
    return world.history.progress.get(workload.name, [0.0])[-1] < healed + 1.0


def held_up_by_damage(world: World, workload: Workload) -> bool:
    """A transaction cannot end while a partition of it is refused; as in Kafka, its producer waits."""
    return bool(world.losses.damaged) and isinstance(workload, TransactionalProducer)


def finished(workloads: list[Workload]) -> Iterator[str]:
    """Ask them to end and wait for it; gives what goes wrong."""
    for workload in workloads:
        workload.finishing = True
    if not workloads:
        return
    world = workloads[0].world
    if not world.run_until(lambda: all(workload.task.done() for workload in workloads), 60):
        for workload in [workload for workload in workloads if not workload.task.done()]:
            world.loop.kill(workload.process)
            world.network.process_died(workload.process, silently=False)
            if not held_up_by_damage(workload.world, workload):
                yield f"S8 {workload.name} cannot finish"
    for workload in workloads:
        if workload.task.done() and (error := workload.task.exception()) is not None:
            yield f"{workload.name} failed: {error!r}"


def nothing_hangs(world: World) -> Iterator[str]:
    """S6: no transaction is open any more."""
    for computer in world.computers:
        for partition in inspection.replicas(computer):
            # Damage may be in the very header that says whose transaction a batch belongs to.
            if partition.last_stable_offset < partition.high_watermark and not world.losses.damaged:
                if world.may_lose((partition.id.topic, partition.id.partition), 0):
                    continue  # a power loss of the only copy, or of several machines, took its marker
                yield (
                    f"S6 {partition.id} on {computer.name}: a transaction hangs at {partition.last_stable_offset}, "
                    f"the high watermark is {partition.high_watermark}"
                )


def everything_led(world: World) -> bool:
    """Has every partition a leader, does it know that it is, and have its coordinators loaded what they lead?"""
    image = world.newest_image()
    if image is None:
        return False
    for topic in image.topics.values():
        for index, partition in enumerate(topic.partitions):
            node = world.computers[partition.leader - 1].node if partition.leader > 0 else None
            if node is None or node.partitions.get(topic.name, index) is None:
                return False
    return True


def state(world: World) -> dict[str, object]:
    """What must be the same after a kill: the image, the producers, the offsets of groups, the transactions."""
    found: dict[str, object] = {}
    image = world.newest_image()
    assert image is not None
    found["topics"] = {name: (topic.id, len(topic.partitions), topic.configs) for name, topic in image.topics.items()}
    for computer in world.computers:
        node = computer.node
        assert node is not None
        for partition in filter(node.partitions.may_open, node.partitions):
            if world.is_damaged((partition.id.topic, partition.id.partition)) or not led_by(node, partition):
                continue
            opened = partition.open()
            if not opened.log.log_end_offset:
                continue  # nobody has written to it, so it may not have been opened before
            start = opened.log.log_start_offset if partition.id.topic not in world.trimmed else None
            found[f"{partition.id} end"] = (opened.log.log_end_offset, start)
            found[f"{partition.id} producers"] = sorted(
                (e.producer_id, e.producer_epoch, e.last_sequence, e.last_offset, e.current_txn_first_offset)
                for e in opened.producers.entries()
            )
            found[f"{partition.id} aborted"] = opened.aborted.between(0, 1 << 62)
        for groups in node.groups.every():
            if offsets := _offsets(groups.machine):
                found[f"groups {groups.partition.id}"] = offsets
        for transactions in node.transactions.every():
            if ids := _transactions(transactions.machine):
                found[f"transactions {transactions.partition.id}"] = ids
    return found


def led_by(node: Node, partition: HostedPartition) -> bool:
    return node.partitions.get(partition.id.topic, partition.id.partition) is partition


def _offsets(machine: GroupShard) -> list[tuple[str, str, int, int]]:
    store = machine._world.offsets
    return sorted(
        (group, topic, index, kept.offset)
        for group in store.group_ids()
        for topic, index, kept in store.of_group(group)
    )


def _transactions(machine: TxnShard) -> list[tuple[str, int, int, str, list[TopicPartition]]]:
    return sorted(
        (t.transactional_id, t.producer_id, t.producer_epoch, t.state.name, sorted(t.partitions))
        for t in machine._world.transactions.values()
    )


def differences(before: dict[str, object], after: dict[str, object]) -> Iterator[str]:
    """S5: memory before the kill, against what was rebuilt from the logs."""
    for key in sorted(set(before) | set(after)):
        if before.get(key) != after.get(key):
            yield f"S5 {key}: {before.get(key)!r} in memory, {after.get(key)!r} rebuilt"
