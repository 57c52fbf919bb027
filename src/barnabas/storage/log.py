"""One partition's log: segments in order, the last one written to. The hot path of the broker runs through here.

Decides when a new segment starts (size, age, a full index, an offset the index cannot express) and where a read starts
and ends. Refuses offsets that do not rise, reads outside the log, everything after a failed fsync. Opening, flushing,
retention, look-ups and cleaning live in files of their own and work on the `Log` they are given.

Threads: everything belongs to the thread of the event loop, except `flush`, `purge`, `verify`, `verify_slice`,
`check_slice`, `find_expired`, the look-ups by time and a cleaning's `run`, which may run in another while appends go
on. They rely on the order inside an append (bytes first, then the size, then the end offset) and inside a roll (see
flushing.py).
"""

import logging
import sys
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from pathlib import Path

from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.limits import RECENT_BATCHES_MAX
from barnabas.model.producers import ProducerEntry
from barnabas.storage import flushing, opening, reading, recovery, retention, time_lookup
from barnabas.storage.compaction.cleaner import CleaningResult
from barnabas.storage.config import LogConfig
from barnabas.storage.damage import Damage
from barnabas.storage.disk import DISK, PASSING, Disk, OpenFile, StorageFatal
from barnabas.storage.files import FILES, FilePool
from barnabas.storage.indexes.offset_index import ENTRY_BYTES as INDEX_ENTRY_BYTES
from barnabas.storage.log_state import LogState
from barnabas.storage.segment import Segment
from barnabas.storage.slice import Slice
from barnabas.storage.stop_snapshots import AtStop
from barnabas.wire.batch import BatchHeader

logger = logging.getLogger(__name__)

RELATIVE_OFFSET_MAX = 2**31 - 1  # an index entry holds the offset in 32 bits


class Log(LogState):
    __slots__ = ()

    @classmethod
    def open(
        cls,
        directory: Path | str,
        config: LogConfig,
        *,
        clean: bool,
        recovery_point: int = 0,
        log_start_offset: int = 0,
        at_stop: AtStop | None = None,
        on_batch: recovery.OnBatch | None = None,
        disk: Disk = DISK,
        files: FilePool = FILES,
    ) -> "Log":
        """Open the folder of a partition, or make it. `clean`: the last owner closed it; else what follows
        `recovery_point` is read (`on_batch` sees each header) and a torn tail is cut. `at_stop`: its producers, if the
        clean stop wrote them beside those of other logs."""
        log = cls(str(directory), disk, files)
        opening.load(
            log,
            config,
            clean=clean,
            recovery_point=recovery_point,
            log_start_offset=log_start_offset,
            at_stop=at_stop,
            on_batch=on_batch,
        )
        return log

    # --- append -------------------------------------------------------------------------------------------------------

    def append(
        self,
        buffer: bytes | bytearray | memoryview,
        base_offset: int,
        last_offset: int,
        max_timestamp: int,
        leader_epoch: int,
        record_count: int = 0,
    ) -> None:
        """Write one whole batch, checked and stamped by the caller, at the end of the log. These are the microseconds
        every produced batch pays: no call that can be spared is made here."""
        assert base_offset <= last_offset
        segment = self._active
        position = segment.size
        size = len(buffer)
        if (
            position + size > self._position_max
            or max_timestamp > segment.roll_after
            or last_offset - segment.base_offset > RELATIVE_OFFSET_MAX
            or base_offset < self.log_end_offset
        ):
            segment = self._make_room(base_offset, last_offset)
            position = segment.size
        file = segment.file
        if file is None:
            file = self._open_active()
        try:
            written = self._pwrite(file.fd, buffer, position)
            if written != size:
                self.disk.write_all(file.fd, memoryview(buffer)[written:], position + written)
        except OSError as error:
            self._append_failed(segment, position, error)
        segment.size = position + size
        if max_timestamp > segment.max_timestamp:
            segment.max_timestamp = max_timestamp
            segment.max_timestamp_offset = last_offset
        if position == 0:
            segment.first_timestamp = max_timestamp
            self.set_roll_limits()
        if segment.bytes_since_index > self._config.index_interval_bytes:
            self._add_index_entry(segment, position, last_offset)
        segment.bytes_since_index += size
        if leader_epoch != self.epochs.latest:
            self.epochs.assign(leader_epoch, base_offset)
        lasts = self.recent_lasts
        lasts.append(last_offset)
        self.recent_positions.append(position)
        if len(lasts) > RECENT_BATCHES_MAX:
            assert len(lasts) == len(self.recent_positions)
            del lasts[: RECENT_BATCHES_MAX // 2]
            del self.recent_positions[: RECENT_BATCHES_MAX // 2]
        self.log_end_offset = last_offset + 1

    def _make_room(self, base_offset: int, last_offset: int) -> Segment:
        """The rare cases of an append: refuse it, or roll first."""
        segment = self._active
        if self.failure is not None:
            raise StorageFatal(self.folder, self.failure)
        if self.closed:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.folder} is closed")
        if base_offset < self.log_end_offset:
            raise ValueError(f"{self.folder}: offset {base_offset} after {self.log_end_offset - 1}")
        if segment.size or last_offset - segment.base_offset > RELATIVE_OFFSET_MAX:
            # The name says where the segment before it ended, also when the batch leaves a gap.
            end_offset = self.log_end_offset
            return self._roll(end_offset if last_offset - end_offset <= RELATIVE_OFFSET_MAX else base_offset)
        return segment  # one batch larger than segment_bytes has a segment to itself

    def _add_index_entry(self, segment: Segment, position: int, last_offset: int) -> None:
        try:
            segment.add_index_entry(position, last_offset)
        except OSError as error:  # the entries stay in memory, to be written with the next
            logger.warning("cannot write %s: %s", segment.offset_index.path, error.strerror)
        if len(segment.offset_index) >= self._config.segment_index_bytes // INDEX_ENTRY_BYTES:
            self._position_max = 0  # the index is full: the next append rolls

    def _append_failed(self, segment: Segment, position: int, error: OSError) -> None:
        """Nothing of the batch stays: the next append, or the next reader of the folder, finds the log as it was."""
        try:
            if segment.file is not None:
                self.disk.truncate(segment.file.fd, position)
        except OSError:
            logger.exception("could not cut a partial write from %s", segment.path)
        try:
            if error.errno in PASSING:
                raise error
            self.fail(f"write failed: {error.strerror}")
            raise StorageFatal(segment.path, f"write failed: {error.strerror}") from error
        finally:
            del error  # its traceback holds this frame: together they would keep files open until the collector comes

    def _open_active(self) -> OpenFile:
        new = not self._active.on_disk
        if new:
            self.folder_dirty = True
        file = self._active.opened()
        if new and self.on_segment_created is not None:
            self.on_segment_created(self._active)
        return file

    # --- roll ---------------------------------------------------------------------------------------------------------

    def roll(self, now_ms: int | None = None) -> bool:
        """Seal the active segment and start another; False when it is empty."""
        if not self._active.size:
            return False
        self._roll(self.log_end_offset)
        return True

    def _roll(self, base_offset: int) -> Segment:
        old = self._active
        assert base_offset >= self.log_end_offset, f"{self.folder}: a segment at {base_offset} before the log's end"
        if old.size:
            old.write_indexes(sealed=True)
            flushing.take_snapshot(self)
            self.dirty.append(old)
        segment = self.start_segment(base_offset)
        old.writable = False  # a sealed file that is missing is an error, and not made anew
        if not old.size:  # nothing in it, but its base offset no longer fits
            del self.segments[-2], self.bases[-2]
            old.unlink()
        self.become_active(segment)
        return segment

    # --- read ---------------------------------------------------------------------------------------------------------

    def read(
        self, offset: int, max_bytes: int, upper_offset: int, *, min_one_batch: bool = True, wait: bool = True
    ) -> Slice:
        """The bytes from the batch of `offset` on, in one segment and below `upper_offset`. What was appended lately is
        found in memory, the rest through the indexes. With wait=False, `ColdRead` when finding the place would wait for
        the disk; the same call with wait=True in a thread then answers."""
        end_offset = self.log_end_offset
        if upper_offset > end_offset:
            upper_offset = end_offset
        if not self.log_start_offset <= offset < upper_offset:
            if offset == upper_offset and offset >= self.log_start_offset:
                return self.empty_slice
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"offset {offset} is outside [{self.log_start_offset}, {upper_offset}]",
            )
        lasts, positions, segment = self.recent_lasts, self.recent_positions, self._active
        number, count = bisect_left(lasts, offset), len(lasts)
        # The first batch in memory is the answer only when none can stand before it.
        if 0 < number < count or (number == 0 and count and positions[0] == 0 and offset >= segment.base_offset):
            position = positions[number]
            end = segment.size
            if upper_offset != end_offset:
                bound = bisect_left(lasts, upper_offset)
                if bound < count:
                    end = positions[bound]
            if 0 < end - position <= max_bytes and position >= segment.trusted_from:
                file = segment.file or self._open_active()
                file.recently_used = True
                return Slice(self.disk, segment, file, position, end - position, True)
            first_end = positions[number + 1] if number + 1 < count else segment.size
            return reading.cut_slice(self, segment, position, first_end, end, max_bytes, min_one_batch=min_one_batch)
        return reading.read_indexed(self, offset, max_bytes, upper_offset, min_one_batch=min_one_batch, wait=wait)

    # --- in files of their own ----------------------------------------------------------------------------------------

    def verify_slice(self, piece: Slice) -> Slice:
        return reading.verify_slice(self, piece)

    def check_slice(self, piece: Slice) -> Damage | None:
        return reading.check_slice(self, piece)

    def verify(self, deep: bool = False) -> list[Damage]:
        return reading.verify_log(self, deep=deep)

    def headers_from(self, offset: int) -> Iterator[BatchHeader]:
        return (header for header, _ in reading.batches_from(self, offset))

    def batches_from(self, offset: int) -> Iterator[tuple[BatchHeader, memoryview]]:
        return reading.batches_from(self, offset)

    def bytes_from(self, offset: int) -> int:
        return reading.bytes_from(self, offset)

    def offset_for_timestamp(self, timestamp: int) -> time_lookup.FoundTimestamp | None:
        return time_lookup.offset_for_timestamp(self, timestamp)

    def max_timestamp_offset(self) -> time_lookup.FoundTimestamp | None:
        return time_lookup.max_timestamp_offset(self)

    def flush(self) -> int:
        return flushing.flush(self)

    def take_snapshot(self) -> None:
        flushing.take_snapshot(self)

    def load_producers(self) -> tuple[int, list[ProducerEntry]]:
        """The newest usable snapshot and its offset, from which the owner replays `headers_from`."""
        return self.snapshots.newest() or (self.log_start_offset, [])

    def truncate_to(self, offset: int) -> None:
        retention.truncate_to(self, offset)

    def truncate_fully_and_start_at(self, offset: int, log_start_offset: int = -1) -> None:
        retention.truncate_fully_and_start_at(self, offset, log_start_offset)

    def advance_log_start(self, offset: int) -> int:
        return retention.advance_log_start(self, offset)

    def may_have_expired(self, now_ms: int) -> bool:
        return retention.may_have_expired(self, now_ms)

    def find_expired(self, now_ms: int, high_watermark: int, most: int) -> list[Segment]:
        return retention.find_expired(self, now_ms, high_watermark, most)

    def apply_retention(
        self, now_ms: int, high_watermark: int, most: int = sys.maxsize, expired: Sequence[Segment] | None = None
    ) -> int:
        return retention.apply_retention(self, now_ms, high_watermark, most, expired)

    def purge_is_due(self, now_ms: int) -> bool:
        return retention.purge_is_due(self, now_ms)

    def purge(self, now_ms: int) -> int:
        return retention.purge(self, now_ms)

    def swap(self, result: CleaningResult) -> int:
        from barnabas.storage.compaction import swapping  # imported by the first compaction, not by every start

        return swapping.swap(self, result)

    def close(self, *, sync: bool = True) -> None:
        """The next opening may be a clean one."""
        flushing.close(self, sync=sync)

    def close_together(self) -> AtStop | None:
        """The same for one of many logs. The caller writes what this gives (stop_snapshots.py), flushes the file system
        once (`Disk.sync_filesystem`) before it says that it stopped cleanly, and then calls `unlink_removed`."""
        return flushing.close_together(self)

    def unlink_removed(self) -> None:
        flushing.unlink_removed(self)

    def let_go(self) -> None:
        """Refuse appends and drop every descriptor; the folder stays as it is. Slices on their way still end well."""
        flushing.let_go(self)

    def delete(self) -> None:
        flushing.delete(self)
