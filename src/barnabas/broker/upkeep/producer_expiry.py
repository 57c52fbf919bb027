"""Removes the producer ids that have written nothing to a partition for `producer.id.expiration.ms`.

Checked every `producer.id.expiration.check.interval.ms`, on a timer of its own as in Kafka. In between the producers
of the node are counted: when there are too many (model/limits), those that are idle for a few minutes go at once. Only
open partitions are checked; the others hold nothing in memory.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from typing import Protocol

from barnabas.broker.clock import Clock, wall_ms
from barnabas.broker.partition.opened import OpenPartition
from barnabas.core.partition.producers import ProducerTotal
from barnabas.model.limits import PRODUCER_IDLE_BEFORE_DROP_MS

log = logging.getLogger(__name__)

_COUNT_SECONDS = 30.0
_PRODUCERS_A_STEP = 20_000  # checked before other work of the loop: 5 ms
_PARTITIONS_A_STEP = 2_000


class OpenPartitions(Protocol):
    def open_ones(self) -> Iterator[OpenPartition]: ...


class ProducerExpiry:
    def __init__(
        self, partitions: OpenPartitions, total: ProducerTotal, clock: Clock, setting: Callable[[str], int]
    ) -> None:
        self._partitions = partitions
        self._total = total
        self._clock = clock
        self._setting = setting
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        last = loop.time()
        while True:
            interval = self._setting("producer.id.expiration.check.interval.ms") / 1000
            await asyncio.sleep(min(_COUNT_SECONDS, max(last + interval - loop.time(), 0.001)))
            try:
                if loop.time() >= last + interval:
                    last = loop.time()
                    await self._check(self._setting("producer.id.expiration.ms"))
                else:
                    await self._check(PRODUCER_IDLE_BEFORE_DROP_MS if self._total.is_full else None)
            except Exception:  # whatever it is, the next check must come: without it the table only grows
                log.exception("producer ids were not expired; the next check is in %s s", min(_COUNT_SECONDS, interval))

    async def _check(self, idle_ms: int | None) -> None:
        """Count the producers of every partition; with `idle_ms` drop those that were idle for so long."""
        # A clock that was set says nothing about idleness: of wall time and the steady clock the earlier one holds.
        now_ms = min(wall_ms(), self._clock.steady_ms())
        count = dropped = checked = 0
        for number, partition in enumerate(list(self._partitions.open_ones())):
            producers = partition.producers
            checked += len(producers)
            if idle_ms is not None:
                dropped += producers.forget_idle(now_ms - idle_ms)
            count += len(producers)
            if checked >= _PRODUCERS_A_STEP or number % _PARTITIONS_A_STEP == _PARTITIONS_A_STEP - 1:
                checked = 0
                await asyncio.sleep(0)
        self._total.count = count
        if dropped:
            log.info("%d idle producer ids were forgotten, %d are left", dropped, count)
