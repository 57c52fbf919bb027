"""Partitions that recovery could not open are reported like any other failure, until a request has opened them.

They are not opened again from here: after a stop that was not clean that may mean to read all of the log, in the thread
of the loop. The first request that needs the partition does it.
"""

from barnabas.broker.partition.partition import HostedPartition
from barnabas.broker.partition.table import PartitionTable
from barnabas.broker.upkeep.rounds import PartitionTask


class Unopened(PartitionTask):
    name = "opening"

    def __init__(self, partitions: PartitionTable) -> None:
        self._partitions = partitions

    def wants(self, partition: HostedPartition) -> bool:
        return partition.id in self._partitions.unusable

    async def run(self, partition: HostedPartition) -> None:
        if not partition.is_open:
            raise self._partitions.unusable[partition.id]
        del self._partitions.unusable[partition.id]
