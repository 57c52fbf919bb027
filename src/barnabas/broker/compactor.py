"""Compaction in the background: picks the dirtiest log that is due, has it cleaned elsewhere, swaps the result in.

Cleaning opens every record, and Python would make the loop wait for it. So a large round runs in a process of its
own, at low priority: it gets the plan as JSON, touches nothing but the partition's files, and answers with what it
wrote. A small one is not worth a process and runs in a thread. One round at a time; a round that fails is tried again
later.
"""

import asyncio
import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from barnabas.broker.clock import wall_ms
from barnabas.broker.partition import HostedPartition
from barnabas.storage import cleaner
from barnabas.storage.cleaner import CleaningPlan, CleaningResult
from barnabas.storage.disk import Disk

if TYPE_CHECKING:
    from barnabas.broker.node import Node

log = logging.getLogger(__name__)

_OWN_PROCESS_FROM_BYTES = 1024 * 1024
_NICENESS = 10
T = TypeVar("T")


class Compactor:
    def __init__(self, node: "Node") -> None:
        self._node = node
        self._running: asyncio.Task[None] | None = None

    def look(self) -> None:
        """Start a round when none runs and a log is due."""
        if self._running is not None or not self._node.settings.bool("log.cleaner.enable"):
            return
        due: tuple[HostedPartition, CleaningPlan] | None = None
        for partition in self._node.partitions.with_data():
            if "compact" not in partition.config.log.cleanup_policy or not self._node.partitions.usable(partition):
                continue
            found = cleaner.plan(partition.log, wall_ms(), last_stable_offset=partition.last_stable_offset)
            if found is not None and (due is None or found.dirty_ratio > due[1].dirty_ratio):
                due = (partition, found)
        if due is not None:
            self._running = asyncio.ensure_future(self._round(*due))
            self._running.add_done_callback(self._done)

    async def _round(self, partition: HostedPartition, plan: CleaningPlan) -> None:
        if sum(source.size for source in plan.sources) >= _OWN_PROCESS_FROM_BYTES:
            result = await _clean_in_a_process(plan)
        else:
            result = await asyncio.get_running_loop().run_in_executor(self._node.read_threads, plan.run)
        if partition.deleted:
            return
        partition.log.swap(result)
        self._node.partitions.checkpoint_cleaned(partition)
        log.info(
            "%s compacted: %d of %d records, %d of %d bytes",
            partition.id,
            result.records_after,
            result.records_before,
            result.bytes_after,
            result.bytes_before,
        )

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._running = None
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a compaction failed, it is tried again: %s", error)

    def stop(self) -> None:
        if self._running is not None:
            self._running.cancel()


async def _clean_in_a_process(plan: CleaningPlan) -> CleaningResult:
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "barnabas.broker.compactor",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment,
    )
    try:
        answer, complaint = await process.communicate(_to_json(plan))
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    if process.returncode:
        raise RuntimeError(complaint.decode(errors="replace").strip().rpartition("\n")[2] or "the cleaner died")
    return _from_json(answer, CleaningResult)


def _to_json(value: object) -> bytes:
    return msgspec.json.encode(value, enc_hook=lambda disk: None)


def _from_json(data: bytes, kind: type[T]) -> T:
    return msgspec.json.decode(data, type=kind, dec_hook=_disk)


def _disk(kind: type, value: Any) -> Any:
    """The one thing that does not travel: the other side has a disk of its own."""
    assert kind is Disk
    return Disk()


def _main() -> None:
    os.nice(_NICENESS)
    plan = _from_json(sys.stdin.buffer.read(), CleaningPlan)
    sys.stdout.buffer.write(_to_json(plan.run()))


if __name__ == "__main__":
    _main()
