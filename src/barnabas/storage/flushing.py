"""What makes a log survive a power loss: fsync of its files, snapshots of its producers, a clean close.

`flush` may run in any thread while the loop appends. It notes the end offset first, then the active segment, then the
sealed ones: a roll puts the sealed segment into `dirty` before it makes the new one active, so none is missed. Epochs
are written before the log is flushed, so a recovery point never passes an epoch that only memory knows.
"""

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from barnabas.storage.disk import FULL, SHORTAGE, StorageFatal
from barnabas.storage.snapshots import encode
from barnabas.storage.stop_snapshots import LITTLE_BYTES, AtStop

if TYPE_CHECKING:
    from barnabas.storage.log import Log
    from barnabas.storage.segment import Segment


SMALL_BYTES = 16 * 1024


def flush(log: "Log") -> int:
    """Everything appended before the call is on disk when it returns; gives the offset up to which."""
    end_offset = log.log_end_offset
    active = log.active_segment
    dirty, paths = list(log.dirty), list(log.unsynced_paths)
    new_names, log.folder_dirty = log.folder_dirty, False
    new_folder, log.parent_dirty = log.parent_dirty, False
    disk = log.disk
    try:
        if log.epochs.write(sync=True):
            new_names = False  # that flushed the folder
        for segment in dirty:
            for path in segment.paths():
                disk.sync_path(path)
        for path in paths:
            disk.sync_path(path)
        file = active.file
        if file is not None:
            disk.sync(file.fd, active.path)
        elif active.on_disk:
            disk.sync_path(active.path)
        if new_names:
            disk.sync_directory(log.folder)
        if new_folder:
            disk.sync_directory(log.folder.rpartition("/")[0] or "/")
    except StorageFatal as fatal:
        log.fail(fatal.reason)
        raise
    except OSError as error:
        if error.errno not in FULL:
            log.folder_dirty, log.parent_dirty = log.folder_dirty or new_names, new_folder  # for whoever tries again
            raise
        # No room for the epochs: what they are about is not counted as flushed, and the next flush tries again.
        log.folder_dirty, log.parent_dirty = True, new_folder
        return log.recovery_point
    _forget_flushed(log, dirty, paths)
    return end_offset


def flush_together(logs: "Sequence[Log]", sync_filesystem: Callable[[], None]) -> list[int]:
    """As `flush` for each of the logs, by one flush of the file system they lie on: for thousands of them at once, of
    which each would need about four. Gives the offset up to which each is on disk."""
    noted = [(log, log.log_end_offset, list(log.dirty), list(log.unsynced_paths)) for log in logs]
    without_epochs = set()
    for log in logs:
        log.folder_dirty = log.parent_dirty = False
        try:
            if not recovery_reads_all(log):
                log.epochs.write(sync=False)
        except OSError as error:
            if error.errno not in FULL and error.errno not in SHORTAGE and not log.closed:
                raise
            without_epochs.add(log)  # what they are about is not counted as flushed, and the next flush tries again
    try:
        sync_filesystem()
    except StorageFatal as fatal:
        for log in logs:
            log.fail(fatal.reason)
        raise
    for log, _, dirty, paths in noted:
        _forget_flushed(log, dirty, paths)
        log.folder_dirty = log.folder_dirty or log in without_epochs
    return [log.recovery_point if log in without_epochs else end_offset for log, end_offset, _, _ in noted]


def recovery_reads_all(log: "Log") -> bool:
    """A recovery of this log finds the epochs in its batches: it has no index entry to begin at but the first batch."""
    return is_small(log) and log.active_segment.has_no_index_entry and not log.epochs.on_disk


def _forget_flushed(log: "Log", dirty: "list[Segment]", paths: list[str]) -> None:
    # In place, one by one: the loop may be adding to these lists right now.
    for segment in dirty:
        with contextlib.suppress(ValueError):
            log.dirty.remove(segment)
    for path in paths:
        with contextlib.suppress(ValueError):
            log.unsynced_paths.remove(path)


def take_snapshot(log: "Log") -> None:
    """Write what the owner knows of its producers now. Before a flush, so that the flush covers it."""
    if log.snapshot_source is None or not log.log_end_offset:
        return
    path = log.snapshots.write(log.log_end_offset, log.snapshot_source(), recovery_point=log.recovery_point)
    if path is not None:
        log.unsynced_paths.append(path)
        log.folder_dirty = True


def is_small(log: "Log") -> bool:
    """Whether an opening can as well read all of the log as the files beside it. Most partitions of a node with
    thousands of them are like that, and to make these files for each is most of what a clean stop costs."""
    return log.size_bytes <= SMALL_BYTES and len(log.segments) == 1 and not log.bases[0] and not log.log_start_offset


def close_together(log: "Log") -> AtStop | None:
    """As `close` without a flush, and without a snapshot of its own where little was written since the last one: gives
    what it would say."""
    at_stop = None
    if log.failure is None and not log.closed and log.snapshot_source is not None:
        end, offsets = log.log_end_offset, log.snapshots.offsets
        since = offsets[-1] if offsets else 0
        # Records may have been deleted since; then a crash would leave nobody who knows who wrote them.
        if log.log_start_offset <= since < end and log.bytes_from(since) <= LITTLE_BYTES:
            at_stop = end, encode(log.snapshot_source())
    close(log, sync=False, has_snapshot=at_stop is not None)
    return at_stop


def close(log: "Log", *, sync: bool, has_snapshot: bool = False) -> None:
    """Bring the folder to a state that a clean opening can trust."""
    if log.closed:
        return
    assert log.log_start_offset <= log.log_end_offset and log.recovery_point <= log.log_end_offset
    if log.failure is None:
        if not has_snapshot:
            take_snapshot(log)  # of a small log too: one with a damaged batch can be opened all the same
        small = is_small(log)
        active = log.active_segment
        if active.on_disk and not (small and active.has_no_index_entry):
            active.write_indexes()
            log.unsynced_paths += [active.offset_index.path, active.time_index.path]
        if sync:
            log.recovery_point = flush(log)
        else:
            if not (small and not log.epochs.on_disk):
                log.epochs.write(sync=False)
            log.recovery_point = log.log_end_offset
    let_go(log)
    if sync:
        unlink_removed(log)


def unlink_removed(log: "Log") -> None:
    """Of a closed log that is on disk; else the next opening would find them left over."""
    for doomed in log.doomed:
        doomed.segment.unlink()
    log.doomed = []


def delete(log: "Log") -> None:
    """The partition is gone: its folder too. Slices on their way still end well."""
    let_go(log)
    log.doomed = []
    log.disk.remove_tree(log.folder)


def let_go(log: "Log") -> None:
    """Refuse appends and drop every descriptor."""
    log.closed = True
    log.refuse_appends()
    for segment in log.segments:
        segment.release()
    for doomed in log.doomed:
        doomed.segment.release()
