"""What can be seen inside the nodes without touching them: who leads the quorum, what each replica holds."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.partition.opened import OpenPartition

if TYPE_CHECKING:
    from barnabas.sim.computer import Computer
    from barnabas.sim.world import World


class QuorumState(NamedTuple):
    epoch: int
    leader: int  # -1: none is known
    end_offset: int
    high_watermark: int


def quorum(computer: "Computer") -> QuorumState | None:
    """None where there is no quorum to see: the node is not up yet, or stands alone."""
    driver = getattr(computer.node, "quorum", None)
    if driver is None or not hasattr(driver, "raft"):
        return None
    raft = driver.raft
    return QuorumState(raft.epoch, raft.leader[0], raft.log.end_offset, raft.high_watermark)


def controller(world: "World") -> "Computer | None":
    """The node that leads the quorum in the highest epoch, by its own belief."""
    found: list[tuple[int, Computer]] = []
    for computer in world.computers:
        state = quorum(computer)
        if state is not None and state.leader == computer.number:
            found.append((state.epoch, computer))
    if len(world.computers) == 1:
        return world.computers[0] if world.computers[0].ready else None
    return max(found, key=lambda item: item[0])[1] if found else None


def replicas(computer: "Computer") -> Iterator[OpenPartition]:
    """Every open replica of a node, led by it or not."""
    node = computer.node
    if node is not None and computer.ready:
        table = node.partitions
        yield from (partition for partition in table.open_ones() if not partition.deleted)
