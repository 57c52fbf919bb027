"""Watches free disk space. A node that runs out stays up, keeps its data and serves reads; producers are refused with
KAFKA_STORAGE_ERROR, which they retry, until there is space for more than the next few batches.

What others can lead is handed over: the node asks the controller to fence it (broker/controller/lifecycle.py), which
takes it out of every list of in-sync replicas. Once it is in none together with others it asks to be unfenced, and then
leads what nobody else can lead, for its readers. It does not follow while there is no space (replication/fetcher.py),
so it does not come back into sync, and acks=all does not wait for it.

The metadata log is on the same disk. A file keeps some space for it (`reserved-space`), which is given back to the disk
when the quorum cannot write, so that the node hears of every change while the disk is full. No producer may take that
space, which is why they are refused before they write.
"""

import asyncio
import logging
from typing import TYPE_CHECKING

from barnabas.model.limits import DISK_ENOUGH_BYTES, METADATA_RESERVE_BYTES
from barnabas.storage.disk import FULL

if TYPE_CHECKING:
    from barnabas.broker.node import Node

log = logging.getLogger(__name__)

RESERVE_FILE = "reserved-space"
_WAY_OUT = "Delete what is not needed, shorten retention.ms or use a larger disk."


class DiskSpace:
    def __init__(self, node: "Node") -> None:
        self._node = node
        self._path = str(node.data_dir / RESERVE_FILE)
        self._has_reserve = False
        self.ran_out = False  # a look at `is_lacking` tells whether that is still so
        self._reserve()

    def failed(self, error: OSError) -> None:
        """Something could not be written. From any thread."""
        if error.errno in FULL and not self.ran_out:
            self.ran_out = True
            others = "others lead what they can, " if self._node.has_successor else ""
            log.error(
                "there is no room on the disk of %s: %sproducers are refused, reads are served until there is. %s",
                self._node.data_dir,
                others,
                _WAY_OUT,
            )

    @property
    def is_lacking(self) -> bool:
        """Looks at the disk when it was full the last time."""
        if self.ran_out:
            needed = DISK_ENOUGH_BYTES + (0 if self._has_reserve else METADATA_RESERVE_BYTES)
            if self._node.platform.disk.space(str(self._node.data_dir))[1] >= needed:
                self.ran_out = False
                log.warning("there is room again on the disk of %s", self._node.data_dir)
                if not self._has_reserve:
                    asyncio.get_running_loop().run_in_executor(self._node.read_threads, self._reserve)
        return self.ran_out

    @property
    def refusal(self) -> str:
        """What a producer is told."""
        return f"the disk of node {self._node.node_id} is full ({self._node.data_dir}). {_WAY_OUT}"

    @property
    def is_better_fenced(self) -> bool:
        """Is there something that others should lead, or not wait for, while there is no space?"""
        node = self._node
        if not self.is_lacking or not node.has_successor:
            return False
        return any(
            len(partition.image.isr) > 1 and node.node_id in partition.image.isr for partition in node.partitions
        )

    # --- space for the metadata log -----------------------------------------------------------------------------------

    def _reserve(self) -> None:
        disk = self._node.platform.disk
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
        self._node.platform.disk.unlink(self._path)
        return True
