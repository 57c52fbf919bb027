"""Snapshots of the metadata as the driver takes and fetches them (KIP-630).

One is taken every so many records, in threads; then the log is trimmed to what the snapshot before it does not hold.
One that the leader offers is written piece by piece, checked as a whole, and replaces log and image.
"""

import asyncio
import logging
from typing import TYPE_CHECKING

from barnabas.broker.clock import wall_ms
from barnabas.broker.quorum import metadata_log
from barnabas.broker.quorum.environment import QuorumIO
from barnabas.broker.quorum.metadata_log import MetadataLog
from barnabas.broker.quorum.snapshot_files import Snapshot
from barnabas.core.cluster.image import MetadataImage
from barnabas.core.raft import OffsetAndEpoch, VoterSet
from barnabas.core.raft.effects import SnapshotPart
from barnabas.core.raft.events import SnapshotDownloaded, SnapshotFailed, SnapshotTaken
from barnabas.storage.disk import FULL

if TYPE_CHECKING:
    from barnabas.broker.quorum.driver import QuorumDriver

log = logging.getLogger(__name__)


class Snapshotting:
    def __init__(self, driver: "QuorumDriver", metadata: MetadataLog, io: QuorumIO) -> None:
        self._io = io
        self._driver = driver
        self._log = metadata
        self._busy = False
        self._fetched: MetadataImage | None = None

    # --- our own ----------------------------------------------------------------------------------------------------

    def image_changed(self, image: MetadataImage) -> None:
        """The image has moved on: is it time for a snapshot?"""
        since = self._log.snapshot.offset if self._log.snapshot is not None else 0
        if self._busy or image.offset + 1 - since < metadata_log.SNAPSHOT_AFTER_RECORDS:
            return
        self._busy = True
        snapshot_id = OffsetAndEpoch(image.offset + 1, self._log.log.epochs.epoch_for(image.offset))
        voters = self._driver.raft.log.voters_since(snapshot_id.offset)[0]
        self._log.log.roll()
        asyncio.ensure_future(self._write(image, snapshot_id, voters)).add_done_callback(self._ended)

    async def _write(self, image: MetadataImage, snapshot_id: OffsetAndEpoch, voters: VoterSet) -> None:
        loop, files, before = asyncio.get_running_loop(), self._log.snapshots, self._log.snapshot
        driver, threads = self._driver, self._io.read_threads
        await loop.run_in_executor(threads, files.write, image, snapshot_id, voters, wall_ms())
        # Before the log is trimmed: a cut that a crash takes back would leave an old tail behind the new start.
        await loop.run_in_executor(self._io.log_thread, self._log.log.flush)
        if driver.closed or (self._log.snapshot is not None and self._log.snapshot.offset >= snapshot_id.offset):
            return  # a newer one came from the leader meanwhile
        self._log.snapshot = snapshot_id
        driver.step(SnapshotTaken(snapshot_id, trimmed=False))
        if before is not None and before.offset > self._log.log.log_start_offset:
            self._log.trim(before)
            driver.step(SnapshotTaken(before, trimmed=True))
            await loop.run_in_executor(threads, self._log.log.purge, wall_ms())

    def _ended(self, done: "asyncio.Task[None]") -> None:
        self._busy = False
        if not done.cancelled() and (error := done.exception()) is not None and not self._driver.closed:
            log.warning("no snapshot of the metadata was taken (%s): it is tried again", error)

    # --- the leader's -----------------------------------------------------------------------------------------------

    def write_part(self, part: SnapshotPart) -> None:
        loop = asyncio.get_running_loop()
        try:
            self._log.snapshots.part(part.snapshot_id, part.position, part.data)
        except OSError as error:
            log.warning("a snapshot of the metadata cannot be written: %s", error)
            if error.errno in FULL:
                self._io.disk_space.release_reserve()
            loop.call_soon(self._driver.step, SnapshotFailed(part.snapshot_id))
            return
        if part.last:
            work = loop.run_in_executor(self._io.read_threads, self._log.snapshots.finish, part.snapshot_id)
            work.add_done_callback(lambda done: self._downloaded(done, part.snapshot_id))

    def _downloaded(self, done: "asyncio.Future[Snapshot | None]", snapshot_id: OffsetAndEpoch) -> None:
        if self._driver.closed or done.cancelled():
            return
        if error := done.exception():
            self._driver.stop_node(error)
            return
        found = done.result()
        if found is None or found.voters is None:
            log.warning("the snapshot %d-%d of the leader is damaged: it is asked for again", *snapshot_id)
            self._driver.step(SnapshotFailed(snapshot_id))
            return
        self._fetched = found.image
        self._driver.step(SnapshotDownloaded(snapshot_id, found.voters))

    def fetched_image(self) -> MetadataImage:
        """The image of the snapshot that the log begins anew with."""
        assert self._fetched is not None
        image, self._fetched = self._fetched, None
        return image
