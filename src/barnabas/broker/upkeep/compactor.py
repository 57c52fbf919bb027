"""Compaction in the background: picks the dirtiest log that is due, has it cleaned elsewhere, swaps the result in.

A large log is cleaned in a process of its own (compaction_process.py), a small one is not worth a process and is
cleaned in a thread. One log at a time; a round goes on until each log that is due had its turn. A log that cannot be
cleaned is backed off (failures.py), so the next dirtiest has its turn; Kafka leaves such a partition alone until it
restarts.
"""

import asyncio
import logging
from concurrent.futures import Executor

from barnabas.broker.clock import wall_ms
from barnabas.broker.partition.partition import HostedPartition
from barnabas.broker.partition.table import PartitionTable
from barnabas.broker.roles import CurrentSettings
from barnabas.broker.upkeep.compaction_process import clean_in_process
from barnabas.broker.upkeep.failures import UpkeepFailures
from barnabas.broker.upkeep.rounds import PartitionTask, attempt, run_round
from barnabas.storage.compaction import cleaner
from barnabas.storage.damage import Damaged

log = logging.getLogger(__name__)

_OWN_PROCESS_FROM_BYTES = 1024 * 1024


class _FindDirtiest(PartitionTask):
    """How dirty each log is; keeps the dirtiest that is due, not backed off, and not in `done`."""

    name = "finding the dirtiest log"

    def __init__(self, partitions: PartitionTable, failures: UpkeepFailures, done: set[HostedPartition]) -> None:
        self._partitions = partitions
        self._failures = failures
        self._done = done
        self.dirtiest: HostedPartition | None = None
        self._ratio = 0.0

    def wants(self, partition: HostedPartition) -> bool:
        return partition.config.log.compacts and self._partitions.may_open(partition)

    async def run(self, partition: HostedPartition) -> None:
        if partition in self._done or not self._failures.may_try(Compactor.name, str(partition.id)):
            return
        opened = partition.open()
        if opened.rebuild is not None:
            return  # which batches are the last of their producers is not known
        ratio = cleaner.due_ratio(opened.log, wall_ms(), last_stable_offset=opened.last_stable_offset)
        if ratio is not None and (self.dirtiest is None or ratio > self._ratio):
            self.dirtiest, self._ratio = partition, ratio


class Compactor(PartitionTask):
    name = "compaction"

    def __init__(
        self, partitions: PartitionTable, threads: Executor, node: CurrentSettings, failures: UpkeepFailures
    ) -> None:
        self._partitions = partitions
        self._threads = threads
        self._node = node
        self._failures = failures

    async def run_round(self) -> None:
        """Clean what is due, the dirtiest first."""
        done: set[HostedPartition] = set()
        while self._node.settings.bool("log.cleaner.enable"):
            find = _FindDirtiest(self._partitions, self._failures, done)
            await run_round(find, self._partitions, self._failures)
            if find.dirtiest is None:
                return
            done.add(find.dirtiest)
            await attempt(self, find.dirtiest, self._failures)

    def wants(self, partition: HostedPartition) -> bool:
        return True

    async def run(self, partition: HostedPartition) -> None:
        loop, threads = asyncio.get_running_loop(), self._threads
        opened = partition.open()
        if opened.rebuild is not None:
            return
        plan = cleaner.plan(opened.log, wall_ms(), last_stable_offset=opened.last_stable_offset)
        if plan is None:
            return
        try:
            if sum(source.size for source in plan.sources) >= _OWN_PROCESS_FROM_BYTES:
                result = await clean_in_process(plan)
            else:
                result = await loop.run_in_executor(threads, plan.run)
        except Damaged as damaged:
            if not partition.deleted:
                opened.log.note_damage(damaged.damage)
                partition.found_damaged(damaged)
            raise
        if partition.deleted:
            return
        opened.log.swap(result)
        await loop.run_in_executor(threads, self._partitions.collect_cleaned(opened))
        log.info(
            "%s compacted: %d of %d records, %d of %d bytes",
            partition.id,
            result.records_after,
            result.records_before,
            result.bytes_after,
            result.bytes_before,
        )
