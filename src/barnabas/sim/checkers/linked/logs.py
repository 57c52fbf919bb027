"""Logs as they lie on the platters: the committed batches of a partition, on whoever leads it."""

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

from barnabas.broker.partition.opened import OpenPartition
from barnabas.broker.partition.partition import HostedPartition
from barnabas.sim.computer import Computer
from barnabas.sim.history import Partition
from barnabas.sim.platter import File, Folder
from barnabas.sim.world import World
from barnabas.wire.batch import HEADER_BYTES, BatchHeader, read_header
from barnabas.wire.records import iter_records


class Batch(NamedTuple):
    epoch: int
    next_offset: int
    digest: bytes
    is_control: bool


class LogView(NamedTuple):
    start: int
    high_watermark: int
    batches: dict[int, Batch]  # by base offset, below the high watermark


def leader_of(world: World, partition: Partition) -> tuple[Computer, OpenPartition] | None:
    """None while nobody leads it, or its log is not open."""
    hosted = _led(world, partition)
    if hosted is None or hosted.opened is None:
        return None
    return world.computers[hosted.image.leader - 1], hosted.opened


def _led(world: World, partition: Partition) -> HostedPartition | None:
    """As the leader has it that the newest image names, once it knows that it leads."""
    image = world.newest_image()
    found = image.partition(*partition) if image is not None else None
    computer = world.computers[found.leader - 1] if found is not None and found.leader > 0 else None
    if computer is None or computer.node is None or not computer.ready:
        return None
    hosted = computer.node.partitions.hosted(*partition)
    return hosted if hosted is not None and hosted.is_leader else None


def end_of(world: World, partition: Partition) -> int | None:
    """The high watermark; None where it cannot be seen. A partition that nobody has written to is an empty one."""
    hosted = _led(world, partition)
    if hosted is None:
        return None
    if hosted.opened is not None:
        return hosted.opened.high_watermark
    return 0 if hosted.untouched else None


def log_of(world: World, partition: Partition) -> LogView | None:
    """None where the log cannot be seen."""
    found = leader_of(world, partition)
    if found is None:
        return LogView(0, 0, {}) if end_of(world, partition) == 0 else None
    computer, opened = found
    batches: dict[int, Batch] = {}
    for header, data in batches_of(computer, partition):
        if header.base_offset >= opened.high_watermark:
            break
        batches[header.base_offset] = Batch(header.leader_epoch, header.next_offset, digest(data), header.is_control)
    return LogView(opened.log.log_start_offset, opened.high_watermark, batches)


def digest(data: memoryview | bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=8).digest()


def batches_of(computer: Computer, partition: Partition) -> Iterator[tuple[BatchHeader, memoryview]]:
    folder = computer.platter.find(f"{computer.data_dir}/{partition[0]}-{partition[1]}")
    if isinstance(folder, Folder):
        for _, file in sorted((name, file) for name, file in folder.live.items() if name.endswith(".log")):
            assert isinstance(file, File)
            yield from in_file(file.live)


def in_file(data: bytes | bytearray) -> Iterator[tuple[BatchHeader, memoryview]]:
    view, position = memoryview(bytes(data)), 0
    while position + HEADER_BYTES <= len(view):
        header = read_header(view, position)
        if header.size < HEADER_BYTES or position + header.size > len(view):
            return
        yield header, view[position : position + header.size]
        position += header.size


def values_in(header: BatchHeader, data: memoryview) -> Iterator[tuple[int, bytes]]:
    if not header.is_control:
        for record in iter_records(data):
            yield record.offset, record.value or b""
