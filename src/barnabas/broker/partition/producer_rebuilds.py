"""Reads the producers of a partition from its log again, after the end of the log was cut (partition/follower_log.py).

The producers are those of the newest snapshot and the batches behind it, which is a segment's worth in the worst case:
0.6 s for 40 MiB of small batches. So it happens in a thread, which only reads: a partition that is deleted, emptied or
cut once more meanwhile starts anew, and the result of the thread is dropped. Until the result is there, nothing is
appended to the partition and it does not lead; clients get NOT_LEADER_OR_FOLLOWER and try again.

| the log           | what is done                                                                              |
|-------------------|-------------------------------------------------------------------------------------------|
| can be read       | the producers replace the old ones; the partition leads if it was elected                 |
| is damaged        | reported to the controller as any other damage: the leader fills this replica again       |
| cannot be read    | tried again, later each time; logged once, and in the node's health                       |
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial

from barnabas.broker.metrics.health import Health
from barnabas.broker.partition.opened import OpenPartition
from barnabas.broker.partition.partition import HostedPartition
from barnabas.broker.partition.state import read_producers
from barnabas.broker.upkeep.failures import describe, way_out
from barnabas.core.partition.producers import Producers
from barnabas.storage.damage import Damage, Damaged
from barnabas.wire.errors import ProtocolError

log = logging.getLogger(__name__)

TASK = "reading the producers"
_FIRST_SECONDS = 0.1  # a file may have been renamed under the thread
_LONGEST_SECONDS = 60.0


class ProducerRebuilds:
    """`leads(partition)`: it was elected meanwhile, and may lead now."""

    def __init__(self, threads: Executor, health: Health, leads: Callable[[HostedPartition], None]) -> None:
        self._threads = threads
        self._health = health
        self._leads = leads
        self._stopped = False

    def start(self, partition: OpenPartition, wait: float = _FIRST_SECONDS) -> None:
        """`wait`: before it is tried again, if it fails."""
        if not self._stopped:
            work = asyncio.get_running_loop().run_in_executor(self._threads, read_producers, partition.log)
            work.add_done_callback(partial(self._done, partition, partition.rebuild, wait))

    def _done(self, partition: OpenPartition, rebuild: object, wait: float, work: "asyncio.Future[Producers]") -> None:
        if work.cancelled() or self._is_over(partition, rebuild):
            return
        error = work.exception()
        subject, health = str(partition.id), self._health
        if error is None:
            health.recovered(TASK, subject)
            partition.rebuilt(work.result())
            if partition.partition.is_leader:
                self._leads(partition.partition)
        elif isinstance(error, Damaged | ProtocolError):
            damage = error.damage if isinstance(error, Damaged) else Damage(partition.log.folder, 0, str(error))
            partition.log.note_damage(damage)
            health.failed(TASK, subject, str(damage), way_out(error))
            partition.partition.damaged(str(damage))
            self._again(partition, rebuild, _LONGEST_SECONDS)
        else:
            # Whatever it is, it is about this partition, which is held back until it is over.
            shown = error if isinstance(error, Exception) else RuntimeError(str(error))
            if health.failed(TASK, subject, describe(shown), way_out(shown)) == 1:
                unexpected = None if isinstance(error, OSError) else error
                log.error("%s of %s: %s. %s", TASK, subject, describe(shown), way_out(shown), exc_info=unexpected)
            self._again(partition, rebuild, wait)

    def _again(self, partition: OpenPartition, rebuild: object, wait: float) -> None:
        def retry() -> None:
            if not self._is_over(partition, rebuild):
                self.start(partition, min(wait * 2, _LONGEST_SECONDS))

        asyncio.get_running_loop().call_later(wait, retry)

    def _is_over(self, partition: OpenPartition, rebuild: object) -> bool:
        """Deleted, cut again or emptied meanwhile, or the node stops."""
        over = self._stopped or partition.deleted or partition.rebuild is not rebuild
        if over and (partition.deleted or partition.rebuild is None):
            self._health.recovered(TASK, str(partition.id))
        return over

    def stop(self) -> None:
        self._stopped = True
