"""Kafka's checkpoint files: a version line, a count line, then one entry a line. Text, replaced in one step.

A file that is cut or does not parse is refused as a whole (`None`): every one of them can be done without, at the
price of more reading, while half of one would be a lie.
"""

from collections.abc import Iterable, Mapping

from barnabas.model.ids import TopicPartition
from barnabas.storage.disk import DISK, Disk

VERSION = 0


def write_lines(disk: Disk, path: str, lines: Iterable[str], *, sync: bool = True) -> None:
    entries = list(lines)
    text = "".join(f"{line}\n" for line in (VERSION, len(entries), *entries))
    disk.write_whole(path, text.encode(), sync=sync)


def read_lines(disk: Disk, path: str) -> list[list[str]] | None:
    """The fields of each entry; None when the file is missing or damaged."""
    data = disk.read_whole(path)
    if data is None:
        return None
    try:
        lines = data.decode().splitlines()
        if int(lines[0]) != VERSION or int(lines[1]) != len(lines) - 2:
            return None
    except (ValueError, IndexError):
        return None
    return [line.split() for line in lines[2:]]


def write_offsets(path: str, offsets: Mapping[TopicPartition, int], *, sync: bool = True, disk: Disk = DISK) -> None:
    """`recovery-point-offset-checkpoint` and its like: topic, partition, offset."""
    write_lines(disk, path, (f"{key[0]} {key[1]} {offset}" for key, offset in sorted(offsets.items())), sync=sync)


def read_offsets(path: str, *, disk: Disk = DISK) -> dict[TopicPartition, int]:
    """Empty when the file is missing or damaged: zero is always a safe checkpoint."""
    entries = read_lines(disk, path)
    try:
        return {TopicPartition(topic, int(partition)): int(offset) for topic, partition, offset in entries or ()}
    except ValueError:
        return {}
