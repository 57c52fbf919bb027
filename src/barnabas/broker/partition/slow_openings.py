"""Opens in a thread what would hold the loop: a replica with much to read before it can be used.

A clean stop leaves a snapshot of the producers at the end of a log, so opening reads next to nothing. It reads long
where that snapshot is missing (14 ms for each MiB of small batches), where a million transactions were aborted (0.25 s)
and where an earlier opening took long and failed. Until the thread is done, whoever asks gets
NOT_LEADER_OR_FOLLOWER, which clients try again (`BeingOpened`).
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from typing import NamedTuple

from barnabas.broker.partition.state import PartitionState
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import TopicPartition
from barnabas.model.limits import OPENED_AT_ONCE_BYTES
from barnabas.storage.damage import Damaged
from barnabas.storage.log import Log
from barnabas.wire.errors import ProtocolError


class BeingOpened(KafkaError):
    def __init__(self, partition: TopicPartition) -> None:
        super().__init__(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{partition} is being opened; try again")


class Reading(NamedTuple):
    """What the disk has of a replica."""

    log: Log
    high_watermark: int  # the last one that was written down
    state: PartitionState | None
    damage: Exception | None  # why there is no state


def read_state(log: Log, high_watermark: int) -> Reading:
    """In any thread. Raises OSError."""
    try:
        return Reading(log, high_watermark, PartitionState.load(log, log.report.transaction_indexes), None)
    except (Damaged, ProtocolError) as error:
        return Reading(log, high_watermark, None, error)


def takes_long(log: Log) -> bool:
    newest = log.snapshots.newest_offset
    snapshot = log.log_start_offset if newest is None else newest
    indexes = sum(log.report.transaction_indexes.values())
    return indexes + log.bytes_from(snapshot) > OPENED_AT_ONCE_BYTES


class SlowOpenings:
    def __init__(self, threads: Executor) -> None:
        self._threads = threads
        self._stopped = False

    def start(self, read: Callable[[], Reading], done: Callable[[Callable[[], Reading]], None]) -> None:
        """`done` is called on the loop with what gives the result, unless the node stops before."""
        work = asyncio.get_running_loop().run_in_executor(self._threads, read)
        work.add_done_callback(partial(self._done, done))

    def _done(self, done: Callable[[Callable[[], Reading]], None], work: "asyncio.Future[Reading]") -> None:
        if not self._stopped and not work.cancelled():
            done(work.result)

    def stop(self) -> None:
        self._stopped = True
