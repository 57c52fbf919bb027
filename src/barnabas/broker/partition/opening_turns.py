"""Opens partitions one after the other, a few milliseconds of the loop at a time.

A node that joins a running cluster has thousands to open before its replicas are in sync. If the fetches that need them
opened them, each fetch would have the few that can be opened in one step, and ten thousand partitions would take
thousands of fetches.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable

from barnabas.broker.network.loop_budget import LoopBudget
from barnabas.broker.partition.partition import HostedPartition


class OpeningTurns:
    def __init__(
        self, open_partition: Callable[[HostedPartition], bool], on_fatal: Callable[[BaseException], None]
    ) -> None:
        """`open_partition` gives False, and remembers why, where it cannot be opened."""
        self._open = open_partition
        self._on_fatal = on_fatal
        self._waiting: OrderedDict[HostedPartition, Callable[[], None] | None] = OrderedDict()
        self._task: asyncio.Task[None] | None = None
        self._stopped = False

    def request(self, partition: HostedPartition, then: Callable[[], None] | None = None) -> None:
        """`then` is called when it is open or cannot be opened; of several for one partition, the last."""
        self._waiting[partition] = then
        self._begin()

    def _begin(self) -> None:
        if self._waiting and self._task is None and not self._stopped:
            self._task = asyncio.ensure_future(self._run())
            self._task.add_done_callback(self._ended)

    async def _run(self) -> None:
        budget = LoopBudget()
        while self._waiting:
            partition, then = self._waiting.popitem(last=False)
            if not partition.is_open and not partition.deleted:
                self._open(partition)
            if then is not None:
                if partition.is_being_opened:
                    partition.when_opened(then)
                else:
                    then()
            await budget.pause()

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._task = None
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_fatal(error)
        self._begin()  # what was requested after its last look, before this was called

    def stop(self) -> None:
        self._stopped = True
        if self._task is not None:
            self._task.cancel()
