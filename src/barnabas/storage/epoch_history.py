"""Whether the history of leader epochs is that of the log, and if not, the history as the batches tell it.

The file is small and easily lost, damaged or put back from yesterday; a replica that believed it would not know what to
cut when it comes back, and keep records that its leader never had. Every batch carries the epoch it was written in, so
the last one is compared at each opening, and where it disagrees all of them are read.
"""

import logging
from typing import TYPE_CHECKING

from barnabas.storage import flushing
from barnabas.storage.damage import Damaged
from barnabas.storage.walk import scan
from barnabas.wire.batch import HEADER_BYTES, read_header

if TYPE_CHECKING:
    from barnabas.storage.log import Log

logger = logging.getLogger(__name__)


def make_fit(log: "Log", last: int | None = None) -> None:
    """For a log whose segments and end are known, and whose epochs are cut to that end. `last`: the epoch of the last
    batch, if the caller has read it."""
    try:
        last = _last_epoch(log) if last is None else last
    except Damaged:
        return  # whoever reads there finds out
    if last is None or last == log.epochs.latest:
        return
    small = not log.epochs.on_disk and flushing.is_small(log)  # a clean stop writes none for such a log
    logger.log(
        logging.DEBUG if small else logging.WARNING,
        "%s: the history of its leaders ends with epoch %d, its records with %d: read from them anew",
        log.folder,
        log.epochs.latest,
        last,
    )
    log.epochs.clear()
    for segment in log.segments:
        try:
            file = segment.opened()
            for _, header, _ in scan(
                log.disk, file.fd, segment.path, 0, segment.size, lowest_offset=segment.base_offset, check_crc=False
            ):
                log.epochs.assign(header.leader_epoch, header.base_offset)
        except Damaged as damaged:
            log.note_damage(damaged.damage)


def _last_epoch(log: "Log") -> int | None:
    """None when there is no batch."""
    segment = next((found for found in reversed(log.segments) if found.size), None)
    if segment is None:
        return None
    step = segment.find(log.log_end_offset - 1, log.config.index_interval_bytes)
    if step is None:
        return None
    header = log.disk.pread(segment.opened().fd, HEADER_BYTES, step[0])
    return read_header(header, 0).leader_epoch
