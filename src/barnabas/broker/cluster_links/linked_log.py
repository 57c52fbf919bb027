"""What a leader does to the log of a partition that a link fills: the same as a follower (partition/follower_log.py),
and then its own followers and readers hear of it.

Records that the source does not have (any more) are cut off: after `link reverse` what the former source had written on
its own, or what an unclean election at the source took back. They are copied to a file first, `link-cut/` in the data
folder, in the format of a segment: `barnabas log dump` and kafka-dump-log read it.
"""

import logging
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from barnabas.broker.partition.opened import OpenPartition
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.storage.log import Log
from barnabas.wire.batch import iter_batches, read_header
from barnabas.wire.errors import ProtocolError

log = logging.getLogger(__name__)

CUT_FOLDER = "link-cut"
_COPIED_AT_ONCE = 1 << 20


def append(opened: OpenPartition, records: memoryview) -> int:
    """Batches of the source, unchanged; gives how many bytes. Raises KafkaError where they cannot be appended."""
    partition, own = opened.partition, opened.log
    records = _news(records, own.log_end_offset)
    if not records:
        return 0
    epoch, limit = read_header(records).leader_epoch, partition.config.link_epoch
    if epoch >= limit:
        raise KafkaError(
            ErrorCode.INVALID_RECORD,
            f"the source's leader epoch {epoch} is not below {limit}, where this cluster's begin: link the topic anew",
        )
    before, size = own.log_end_offset, own.size_bytes
    try:
        opened.follower.append(records)
    finally:
        if own.log_end_offset > before:
            opened.appends.written(own.log_end_offset, max(own.size_bytes - size, 0))
    return max(own.size_bytes - size, 0)


def _news(records: memoryview, end: int) -> memoryview:
    """Without what the log has already: a fetch that was sent before the last answer was read brings it again."""
    try:
        for position, header in iter_batches(records):
            if header.last_offset >= end:
                return records[position:]
    except ProtocolError:
        return records  # refused where it is appended
    return records[:0]


def follow_start(opened: OpenPartition, source_start: int) -> None:
    """Our log begins where the source's begins (retention, DeleteRecords)."""
    if opened.follower.advance_log_start(source_start):
        opened.aborted.forget_before(opened.log.log_start_offset)
        opened.partition.leadership.recheck_followers()


def truncate(opened: OpenPartition, offset: int) -> bool:
    """Gives whether anything was cut."""
    before = opened.log.log_end_offset
    try:
        return opened.follower.truncate(offset)
    finally:  # of an attempt that failed in the middle, followers must hear too
        if opened.log.log_end_offset != before:
            opened.partition.leadership.begin_anew()


def start_anew(opened: OpenPartition, offset: int) -> None:
    try:
        opened.follower.start_anew(offset)
    finally:
        opened.partition.leadership.begin_anew()


def save_cut(own: Log, partition: str, offset: int) -> str:
    """Copies all records from `offset` on to a file of their own, in a thread: nothing is appended meanwhile. Gives
    its path; empty where there is nothing to keep.

    A file that is there already is never written to: after a power loss in the middle of the cut the log may have only
    some of the records that were kept before, under the same offsets."""
    disk, end = own.disk, own.log_end_offset
    if offset >= end:
        return ""
    parent = Path(own.folder).parent / CUT_FOLDER
    name = f"{partition}-{offset}-{end}"
    for folder in (parent / (f"{name}.{number}" if number > 1 else name) for number in count(1)):
        path = str(folder / f"{offset:020d}.log")
        if not disk.exists(path):
            break
        if _has(own, path, offset):
            return path
    disk.make_directory(str(parent))
    disk.make_directory(str(folder))
    _copy(own, f"{path}.partial", offset)
    disk.rename(f"{path}.partial", path)
    for directory in (folder, parent, parent.parent):  # the names too: the records are cut off next
        disk.sync_directory(str(directory))
    log.warning("%s: records %d to %d are not at the source; kept in %s", partition, offset, end - 1, path)
    return path


def _chunks(own: Log, offset: int) -> Iterator[bytearray]:
    waiting = bytearray()
    for header, batch in own.batches_from(offset):
        if header.last_offset < offset:
            continue
        waiting += batch
        if len(waiting) >= _COPIED_AT_ONCE:
            yield waiting
            waiting = bytearray()
    if waiting:
        yield waiting


def _copy(own: Log, path: str, offset: int) -> None:
    disk, position = own.disk, 0
    file = disk.open(path, write=True, create=True)
    for chunk in _chunks(own, offset):
        disk.write_all(file.fd, chunk, position)
        position += len(chunk)
    disk.truncate(file.fd, position)  # of what an attempt before this one left
    disk.sync(file.fd, path)


def _has(own: Log, path: str, offset: int) -> bool:
    """Does the file hold these records and nothing else?"""
    disk, position = own.disk, 0
    file = disk.open(path)
    for chunk in _chunks(own, offset):
        if disk.pread(file.fd, len(chunk), position) != chunk:
            return False
        position += len(chunk)
    return position == disk.size(path)
