"""Watches free disk space. A node that runs out stays up, keeps its data and serves reads; producers are refused with
KAFKA_STORAGE_ERROR, which they retry, until there is space for more than the next few batches.

What others can lead is handed over: the node asks the controller to fence it (broker/controller/lifecycle.py), which
takes it out of every list of in-sync replicas. Once it is in none together with others it asks to be unfenced, and then
leads what nobody else can lead, for its readers. It does not follow while there is no space (replication/fetcher.py),
so it does not come back into sync, and acks=all does not wait for it.

The metadata log is on the same disk. A file keeps some space for it (`reserved-space`), which is given back to the disk
when the quorum cannot write, so that the node follows the metadata while the disk is full. No producer may use that
space, which is why they are refused before they write.
"""

import asyncio
import logging
from collections.abc import Iterable
from concurrent.futures import Executor
from pathlib import Path

from barnabas.broker.partition.partition import HostedPartition
from barnabas.broker.roles import ClusterView
from barnabas.model.limits import DISK_ENOUGH_BYTES, METADATA_RESERVE_BYTES
from barnabas.storage.disk import FULL, Disk

log = logging.getLogger(__name__)

RESERVE_FILE = "reserved-space"
_WAY_OUT = "Delete what is not needed, shorten retention.ms or use a larger disk."


class DiskSpace:
    def __init__(self, data_dir: Path, disk: Disk, threads: Executor, cluster: ClusterView) -> None:
        self._data_dir = data_dir
        self._disk = disk
        self._threads = threads
        self._cluster = cluster
        self._path = str(data_dir / RESERVE_FILE)
        self._has_reserve = False
        self.ran_out = False  # found by a write; `is_lacking` checks whether that is still so
        self._reserve()

    def failed(self, error: OSError) -> None:
        """Something could not be written. From any thread."""
        if error.errno in FULL and not self.ran_out:
            self.ran_out = True
            others = "others lead what they can, " if self._has_successor else ""
            log.error(
                "there is no space on the disk of %s: %sproducers are refused, reads are served until there is. %s",
                self._data_dir,
                others,
                _WAY_OUT,
            )

    @property
    def is_lacking(self) -> bool:
        """Asks the disk where it was full the last time."""
        if self.ran_out:
            needed = DISK_ENOUGH_BYTES + (0 if self._has_reserve else METADATA_RESERVE_BYTES)
            if self._disk.space(str(self._data_dir))[1] >= needed:
                self.ran_out = False
                log.warning("there is space again on the disk of %s", self._data_dir)
                if not self._has_reserve:
                    asyncio.get_running_loop().run_in_executor(self._threads, self._reserve)
        return self.ran_out

    def measure(self) -> tuple[int, int]:
        """Bytes of the disk: all, and those that are free. In a thread."""
        return self._disk.space(str(self._data_dir))

    @property
    def refusal(self) -> str:
        """The error message of a Produce."""
        return f"the disk of node {self._cluster.node_id} is full ({self._data_dir}). {_WAY_OUT}"

    @property
    def _has_successor(self) -> bool:
        return self._cluster.image.has_successor(self._cluster.node_id)

    def is_better_fenced(self, partitions: Iterable[HostedPartition]) -> bool:
        """Is there something among these that others should lead, or not wait for, while there is no space?"""
        if not self.is_lacking or not self._has_successor:
            return False
        node_id = self._cluster.node_id
        return any(len(each.image.isr) > 1 and node_id in each.image.isr for each in partitions)

    # --- space for the metadata log -----------------------------------------------------------------------------------

    def _reserve(self) -> None:
        disk = self._disk
        try:
            if not disk.exists(self._path):
                disk.reserve(self._path, METADATA_RESERVE_BYTES)
            self._has_reserve = True
        except OSError as error:
            log.warning("no space can be kept for the metadata log (%s): %s", self._path, error.strerror)

    def release_reserve(self) -> bool:
        """The metadata log cannot be written: give it what was kept for it; False when that is gone already."""
        if not self._has_reserve:
            return False
        self._has_reserve = False
        self._disk.unlink(self._path)
        return True
