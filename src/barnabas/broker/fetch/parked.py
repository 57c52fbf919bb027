"""A fetch that found too little and waits for more: `fetch.min.bytes` and `fetch.max.wait.ms`.

It is among the waiters of each partition it reads. When enough bytes are committed, when the time is over, or when a
partition is deleted, it is answered once, in the next turn of the loop: appends that arrive together share one answer.
"""

import asyncio
from collections.abc import Callable, Iterable

from barnabas.broker.network.connection import Reply
from barnabas.broker.partition.opened import OpenPartition


class ParkedPartitions:
    """How many partitions the waiting fetches of all consumers have named: each is some memory."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.count = 0

    def have_room(self, more: int) -> bool:
        return self.count + more <= self.most

    def add(self, count: int) -> None:
        self.count += count


class ParkedFetch:
    __slots__ = ("_answer", "_loop", "_missing_bytes", "_partitions", "_quiet", "_stable", "_timer", "_woken", "future")

    def __init__(
        self,
        partitions: Iterable[OpenPartition],
        missing_bytes: int,
        wait_ms: int,
        read_committed: bool,
        answer: Callable[[bool], "Reply | asyncio.Future[Reply]"],
    ) -> None:
        """`answer(quiet)`: quiet when nothing has come to any of the partitions."""
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Reply] = self._loop.create_future()
        self._answer = answer
        self._missing_bytes = missing_bytes
        self._woken, self._quiet = False, True
        self._partitions = tuple(partitions)
        self._stable = {p: p.last_stable_offset for p in self._partitions} if read_committed else None
        for partition in self._partitions:
            partition.waiters.fetches.append(self)
        self._timer = self._loop.call_later(wait_ms / 1000, self._complete)
        self.future.add_done_callback(self._leave)

    def arrived(self, partition: OpenPartition, size: int) -> None:
        self._quiet = False
        if self._stable is not None:
            if not partition.deleted and partition.last_stable_offset <= self._stable[partition]:
                return  # part of a transaction that is still open: nothing this reader may see
            size = self._missing_bytes  # how much a marker sets free is only known by reading
        self._missing_bytes -= size
        if self._missing_bytes <= 0 and not self._woken:
            self._woken = True
            self._loop.call_soon(self._complete)

    def _complete(self) -> None:
        if self.future.done():
            return
        self._leave()
        try:
            reply = self._answer(self._quiet)
        except Exception as error:  # whatever it is, the request that waits must get it
            self.future.set_exception(error)
            return
        if isinstance(reply, asyncio.Future):
            reply.add_done_callback(self._pass_on)
        else:
            self.future.set_result(reply)

    def _pass_on(self, inner: "asyncio.Future[Reply]") -> None:
        if self.future.done() or inner.cancelled():
            return
        if error := inner.exception():
            self.future.set_exception(error)
        else:
            self.future.set_result(inner.result())

    def _leave(self, _: object = None) -> None:
        """Off every partition; also when the client has gone."""
        self._timer.cancel()
        for partition in self._partitions:
            if self in partition.waiters.fetches:
                partition.waiters.fetches.remove(self)
        self._partitions = ()
