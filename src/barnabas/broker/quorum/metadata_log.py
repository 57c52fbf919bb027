"""The cluster's metadata on disk: the log `__cluster_metadata-0`, a record a change, and snapshots of the whole.

The quorum's machine (core/raft) decides what is appended, cut or dropped; this does it, and knows how to read it back.
What the log holds is not yet so: only what the quorum has committed becomes the image. A snapshot stands for all that
came before it, so that starting costs what the cluster is, not what it has been through. The log keeps what follows the
snapshot before the newest, so that a follower a little behind need not fetch a snapshot.
"""

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path

from barnabas.broker.network.loop_budget import LoopBudget
from barnabas.broker.quorum.log_check import refuse_damage
from barnabas.broker.quorum.snapshot_files import Snapshot, SnapshotFiles, usable_snapshots
from barnabas.core.cluster.image import EMPTY_IMAGE, MetadataImage
from barnabas.core.cluster.record_codec import decode_record, encode_record
from barnabas.core.cluster.records import MetadataRecordError
from barnabas.core.cluster.records import Record as MetadataRecord
from barnabas.core.raft import LogView, OffsetAndEpoch, VoterSet
from barnabas.core.raft.batches import encode_control, voters_in
from barnabas.core.raft.effects import AppendBatch, AppendFetched
from barnabas.core.raft.log import EMPTY
from barnabas.model.ids import METADATA_TOPIC
from barnabas.storage.config import LogConfig
from barnabas.storage.directory import DirectoryError
from barnabas.storage.disk import DISK, Disk
from barnabas.storage.log import Log
from barnabas.wire.batch import BatchHeader, iter_batches
from barnabas.wire.records import Record, batch_of_frames, build_batch, frame_value, iter_records

logger = logging.getLogger(__name__)

SNAPSHOT_AFTER_RECORDS = 20_000  # about 0.2 s of replay
_APPLIED_AT_ONCE = 10_000  # records played onto an image in one step, 1 us each
_READ_BYTES = 4 * 1024 * 1024
_CONFIG = LogConfig(retention_ms=-1, retention_bytes=-1, segment_bytes=64 * 1024 * 1024)


def frame_record(numbered: tuple[int, MetadataRecord]) -> bytes:
    """A record as it stands in its batch, by its place there. Thousands of them are framed in turns, before `append`:
    it takes 2 us each."""
    return frame_value(encode_record(numbered[1]), numbered[0])


class MetadataLog:
    log: Log

    def __init__(self, root: Path, disk: Disk = DISK) -> None:
        self._disk = disk
        self._path = root / f"{METADATA_TOPIC}-0"
        self.folder = str(self._path)
        self.snapshots = SnapshotFiles(disk, self.folder)
        self.snapshot: OffsetAndEpoch | None = None  # the newest

    # --- opening ----------------------------------------------------------------------------------------------------

    def load(self, initial_voters: VoterSet | None = None) -> tuple[MetadataImage, LogView]:
        """Open and repair what a crash left behind. The image is that of the newest snapshot: whether what follows it
        is committed, only the quorum knows. `initial_voters` count as long as the log itself names none."""
        try:
            newest = next(usable_snapshots(self.snapshots), None)
        except MetadataRecordError as error:
            raise self._unreadable(error) from None
        image = newest.image if newest is not None else EMPTY_IMAGE
        before = newest.voters if newest is not None and newest.voters is not None else initial_voters
        refuse_damage(self._disk, self.folder, before)
        # The log is small and every answered record in it was flushed, so it is always read with suspicion.
        self.log = Log.open(
            self._path, _CONFIG, clean=False, recovery_point=image.offset + 1, log_start_offset=0, disk=self._disk
        )
        start = self._settle(newest)
        self.log.recovery_point = self.log.flush()  # what a kill left in the page cache counts as flushed from now on
        voters: list[tuple[int, VoterSet]] = []
        if newest is not None and newest.voters is not None:
            voters.append((newest.id.offset - 1, newest.voters))
        elif initial_voters is not None and len(initial_voters):
            voters.append((-1, initial_voters))
        for header, batch in self._batches(image.offset + 1):
            if header.is_control and (found := voters_in(batch)) is not None:
                voters.append((header.last_offset, found))
        self.snapshot = newest.id if newest is not None else None
        end = self.log.log_end_offset
        view = LogView(
            end_offset=end,
            epochs=[entry for entry in self.log.epochs.entries if start.offset <= entry[1] < end],
            start=start,
            snapshot=self.snapshot,
            high_watermark=image.offset + 1,
            voters=voters,
        )
        return image, view

    def _settle(self, newest: Snapshot | None) -> OffsetAndEpoch:
        """Bring log and snapshots together again, whatever step a crash came between; gives where the log begins."""
        log = self.log
        if newest is None:
            if log.log_start_offset > 0:
                raise DirectoryError(f"{self.folder}: the snapshot before offset {log.log_start_offset} is missing")
            return EMPTY
        offset, epoch = newest.id
        follows = log.log_start_offset <= offset <= log.log_end_offset and (
            offset == 0 or log.log_start_offset == offset or log.epochs.epoch_for(offset - 1) == epoch
        )
        if not follows:  # a snapshot fetched from the leader, and a crash before the log was dropped for it
            logger.warning("%s begins anew at its snapshot %d", self.folder, offset)
            log.truncate_fully_and_start_at(offset)
        if log.log_start_offset == 0:
            return EMPTY
        # Segments go as a whole, so the first one may begin before the snapshot that the log was trimmed to.
        start = next(found for found in self.snapshots.ids() if found.offset >= log.log_start_offset)
        log.advance_log_start(start.offset)
        return start

    # --- what the machine asks for ----------------------------------------------------------------------------------

    def append(self, change: AppendBatch, now_ms: int) -> None:
        """Records that are bytes have been framed by whoever proposed them."""
        base, epoch = change.base_offset, change.epoch
        assert base == self.log.log_end_offset, f"records at {base}, the metadata log ends at {self.log.log_end_offset}"
        if change.control:
            pairs = [encode_control(record) for record in change.control]
            records = [Record(base + i, now_ms, key, value, ()) for i, (key, value) in enumerate(pairs)]
            data = build_batch(records, leader_epoch=epoch, control=True)
        else:
            frames = [
                record if isinstance(record, bytes) else frame_record((i, record))  # type: ignore[arg-type]
                for i, record in enumerate(change.records)
            ]
            data = batch_of_frames(frames, base_offset=base, timestamp=now_ms, leader_epoch=epoch)
        last_offset = base + len(change.control or change.records) - 1
        self.log.append(data, base_offset=base, last_offset=last_offset, max_timestamp=now_ms, leader_epoch=epoch)

    def append_fetched(self, change: AppendFetched) -> None:
        assert isinstance(change.records, bytes | memoryview)
        data = memoryview(change.records)
        for (position, header), summary in zip(iter_batches(data), change.batches, strict=False):
            assert header.base_offset == summary.base_offset
            if header.base_offset < self.log.log_end_offset:
                continue  # written before the disk was full
            self.log.append(
                data[position : position + header.size],
                base_offset=header.base_offset,
                last_offset=header.last_offset,
                max_timestamp=header.max_timestamp,
                leader_epoch=header.leader_epoch,
            )

    def truncate(self, end_offset: int) -> None:
        self.log.truncate_to(end_offset)

    def reset(self, snapshot_id: OffsetAndEpoch) -> None:
        """The log begins anew, empty, where this snapshot ends. A crash on the way is settled by the next start."""
        self.log.truncate_fully_and_start_at(snapshot_id.offset)
        self.snapshot = snapshot_id
        self.snapshots.keep_from(snapshot_id)

    def trim(self, snapshot_id: OffsetAndEpoch) -> None:
        """Drop what this snapshot stands for. The log was flushed before."""
        self.log.advance_log_start(snapshot_id.offset)
        self.snapshots.keep_from(snapshot_id)

    # --- reading ----------------------------------------------------------------------------------------------------

    def read(self, offset: int, end_offset: int, max_bytes: int) -> bytes:
        """Whole batches from `offset` on."""
        return self.log.read(offset, max_bytes, end_offset).read()

    def replay(self, image: MetadataImage, end_offset: int) -> MetadataImage:
        """The image with everything up to `end_offset`, which is the end of a batch."""
        records: list[MetadataRecord] = []
        epoch = image.epoch
        for header, batch in self._batches(image.offset + 1, end_offset):
            epoch = header.leader_epoch
            if not header.is_control:
                try:
                    records.extend(
                        decode_record(record.value) for record in iter_records(batch) if record.value is not None
                    )
                except MetadataRecordError as error:
                    raise self._unreadable(error) from None
        return image.apply(records, offset=end_offset - 1, epoch=epoch)

    async def replay_in_turns(self, image: MetadataImage, end_offset: int) -> MetadataImage:
        """The same, with pauses in which the loop serves others. The caller sees to it that the log is not begun anew
        meanwhile; what is appended to it does not matter."""
        records: list[MetadataRecord] = []
        epoch, budget = image.epoch, LoopBudget()
        try:
            for header, batch in self._batches(image.offset + 1, end_offset):
                epoch = header.leader_epoch
                for record in iter_records(batch) if not header.is_control else ():
                    if record.value is not None:
                        records.append(decode_record(record.value))
                    await budget.pause()
        except MetadataRecordError as error:
            raise self._unreadable(error) from None
        offset = image.offset
        for at in range(0, len(records), _APPLIED_AT_ONCE):
            await asyncio.sleep(0)
            image = image.apply(records[at : at + _APPLIED_AT_ONCE], offset=offset)
        await asyncio.sleep(0)
        return image.apply((), offset=end_offset - 1, epoch=epoch)

    def _unreadable(self, error: MetadataRecordError) -> DirectoryError:
        way_out = "It was written by a later release or by other software: start this node with what wrote it."
        return DirectoryError(f"the metadata log {self.folder} cannot be read: {error}", way_out)

    def _batches(self, offset: int, end_offset: int | None = None) -> Iterator[tuple[BatchHeader, memoryview]]:
        end = self.log.log_end_offset if end_offset is None else end_offset
        while offset < end:
            data = memoryview(self.log.read(offset, _READ_BYTES, end).read())
            if not data:
                raise DirectoryError(f"the metadata log {self.folder} cannot be read: nothing at offset {offset}")
            for position, header in iter_batches(data):
                offset = header.next_offset
                yield header, data[position : position + header.size]

    def close(self) -> None:
        self.log.close()
