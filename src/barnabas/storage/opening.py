"""From a folder to a live log: leftovers settled, segments listed, the end found, the rest made to agree with it.

Whatever else the folder says (epochs, snapshots, the start offset a checkpoint remembers) is cut to what the segments
hold. A log without a segment is empty at its start offset; nothing is written for it until the first append.
"""

import logging
from array import array
from itertools import pairwise
from typing import TYPE_CHECKING

from barnabas.storage import epoch_history, leftovers, recovery
from barnabas.storage.config import LogConfig
from barnabas.storage.damage import Damaged
from barnabas.storage.disk import Disk
from barnabas.storage.epochs import LeaderEpochs
from barnabas.storage.indexes.aborted import TRANSACTION_INDEX
from barnabas.storage.retention import Doomed
from barnabas.storage.segment import Segment
from barnabas.storage.slice import Slice
from barnabas.storage.snapshots import Snapshots
from barnabas.storage.stop_snapshots import AtStop

if TYPE_CHECKING:
    from barnabas.storage.log import Log

logger = logging.getLogger(__name__)

EPOCHS = "leader-epoch-checkpoint"


def load(
    log: "Log",
    config: LogConfig,
    *,
    clean: bool,
    recovery_point: int,
    log_start_offset: int,
    at_stop: AtStop | None,
    on_batch: recovery.OnBatch | None,
) -> None:
    """Fill in a log that knows its folder, its disk and its file pool."""
    disk, folder = log.disk, log.folder
    log.report = recovery.RecoveryReport()
    log.closed, log.failure, log.snapshot_source, log.on_segment_created = False, None, None, None
    log.empty_slice = Slice(disk, None, None, 0, 0, True)
    log.dirty, log.doomed, log.unsynced_paths, log.damages = [], [], [], set()
    log.folder_dirty = False
    log.recent_lasts, log.recent_positions = array("q"), array("q")

    names, log.parent_dirty = _files_of(disk, folder)
    if names:
        log.report.leftovers = leftovers.settle(disk, folder, names)
        log.report.transaction_indexes = {name: names[name] for name in names if name.endswith(TRANSACTION_INDEX)}
    log.snapshots = Snapshots(disk, folder, names)
    log.epochs = LeaderEpochs(disk, f"{folder}/{EPOCHS}")
    if EPOCHS in names:
        log.epochs.load()

    segments = recovery.list_segments(disk, log.files, folder, names)
    end_offset, last_epoch = log_start_offset, None
    if segments:
        segments[-1].make_writable()  # opened once, for its end to be read and for the appends that follow
        end_offset, last_epoch = _find_end(log, config, segments, names, clean, recovery_point, on_batch)
        if end_offset < log_start_offset:  # the start was moved past all that is left
            for segment in segments:
                segment.unlink()
            segments, end_offset, last_epoch = [], log_start_offset, None
    log.segments = segments
    log.bases = [segment.base_offset for segment in segments]
    log.set_config(config)
    if not segments:
        log.start_segment(end_offset)
    log.log_start_offset = max(log_start_offset, log.bases[0])
    log.log_end_offset = end_offset
    log.first_dirty_offset = log.log_start_offset
    log.recovery_point = end_offset if clean else min(recovery_point, end_offset)
    log.become_active(log.segments[-1])
    # After DeleteRecords up to the end, the epoch of the last batch begins where the log does: at its end.
    log.epochs.truncate_from_end(max(end_offset, log.log_start_offset + 1))
    epoch_history.make_fit(log, last_epoch)
    log.epochs.truncate_from_start(log.log_start_offset)
    # After a power loss a snapshot may be there while what it counts on (the index of aborted transactions) is not.
    log.snapshots.drop_above(end_offset if clean else min(recovery_point, end_offset))
    if clean and at_stop is not None and at_stop[0] == end_offset:
        log.snapshots.use(at_stop)


def _find_end(
    log: "Log",
    config: LogConfig,
    segments: list[Segment],
    names: dict[str, int],
    clean: bool,
    recovery_point: int,
    on_batch: recovery.OnBatch | None,
) -> tuple[int, int | None]:
    """Where the log ends, and the leader epoch of the last batch if it was read on the way."""
    end_offset, last_epoch = 0, None
    if clean:
        try:
            recovery.check_indexes(segments[-1], names, config, log.report, active=True)
            # A log without the file is small, as a rule, and read from its beginning: then its epochs are known.
            epochs = log.epochs if len(segments) == 1 and not log.epochs.on_disk else None
            end_offset, last_epoch = segments[-1].load_end(config.index_interval_bytes, epochs)
        except Damaged as damaged:
            logger.warning("%s, though the log was closed cleanly: recovering", damaged)
            clean, recovery_point = False, segments[-1].base_offset
    if not clean:
        run = recovery.Recovery(log.disk, config, log.epochs, log.report, on_batch)
        end_offset = run.run(segments, recovery_point)
        last_epoch = run.last_epoch
        log.doomed += [Doomed(segment) for segment in run.dropped]
        if len(segments) > 1:
            names = log.disk.scan(log.folder)
        log.folder_dirty = True
        # A kill leaves its writes in the page cache: the log is whole, but only a flush makes it safe. The segment that
        # the recovery point lies in counts too.
        log.dirty += [segment for segment, after in pairwise(segments) if after.base_offset > recovery_point]
    for segment in segments[:-1]:
        recovery.check_indexes(segment, names, config, log.report)
    return end_offset, last_epoch


def _files_of(disk: Disk, folder: str) -> tuple[dict[str, int], bool]:
    """Names and sizes; True when the folder had to be made."""
    try:
        return disk.scan(folder), False
    except FileNotFoundError:
        return {}, disk.make_directory(folder)
