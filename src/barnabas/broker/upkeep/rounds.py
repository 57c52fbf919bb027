"""The contract of background work over partitions, and the one loop that carries it out.

A round goes over all partitions of the node, in slices: after a few milliseconds, or so many partitions, everything
else on the loop has its turn. A partition that fails is backed off (failures.py), and the round goes on with the next.
"""

from abc import ABC, abstractmethod
from asyncio import sleep
from collections.abc import Iterable

from barnabas.broker import clock
from barnabas.broker.partition.partition import HostedPartition
from barnabas.broker.partition.slow_openings import BeingOpened
from barnabas.broker.upkeep.failures import UpkeepFailures
from barnabas.storage.disk import StorageFatal

_SLICE_SECONDS = 0.005
_SLICE_PARTITIONS = 256  # also where time stands still while code runs, as in the simulator


class PartitionTask(ABC):
    """One kind of background work."""

    name: str  # "retention": a reader of the log sees "retention of t-0 failed"

    @abstractmethod
    def wants(self, partition: HostedPartition) -> bool:
        """Is there anything to do? Asked of every partition in every round, so it must be cheap and touch no disk."""

    @abstractmethod
    async def run(self, partition: HostedPartition) -> None:
        """Do it, for no longer than a few milliseconds between two awaits. What it raises is this partition's own."""

    async def end_round(self) -> None:  # noqa: B027 - most have nothing to add
        """All partitions had their turn."""


class Slices:
    """`if slices.is_over(): await slices.pause()` after each step: everybody else on the loop has a turn in between."""

    __slots__ = ("_begun", "_steps")

    def __init__(self) -> None:
        self._begun = clock.source.monotonic()
        self._steps = 0

    def is_over(self) -> bool:
        # The loop's own time stands still while a callback runs.
        self._steps += 1
        return self._steps >= _SLICE_PARTITIONS or clock.source.monotonic() - self._begun > _SLICE_SECONDS

    async def pause(self) -> None:
        await sleep(0)
        self._begun = clock.source.monotonic()
        self._steps = 0


async def run_round(task: PartitionTask, partitions: Iterable[HostedPartition], failures: UpkeepFailures) -> None:
    """One round of one task. Where there is nothing to do the clock is not looked at: for ten thousand idle partitions
    that would cost more than asking them."""
    slices, everything = Slices(), list(partitions)
    for at in range(0, len(everything), _SLICE_PARTITIONS):
        if at:
            await slices.pause()
        for partition in everything[at : at + _SLICE_PARTITIONS]:
            if task.wants(partition):
                await attempt(task, partition, failures)
                if slices.is_over():
                    await slices.pause()
    await task.end_round()


async def attempt(task: PartitionTask, partition: HostedPartition, failures: UpkeepFailures) -> None:
    """One partition of one round, unless it is backed off."""
    if partition.deleted or not failures.may_try(task.name, str(partition.id)):
        return
    try:
        await task.run(partition)
    except BeingOpened:
        return  # the next round finds it open
    except Exception as error:  # whatever it is, it is this partition's own, and the others must not wait for it
        if partition.deleted:
            return
        if isinstance(error, StorageFatal):
            partition.storage_failed(error)
        failures.failed(task.name, str(partition.id), error)
    else:
        failures.succeeded(task.name, str(partition.id))
