"""Partition folders found at a start of which the cluster's metadata gives this node no replica.

- The metadata knows the topic: the replica was moved to another node while this one was down. The folder is removed.
- The metadata does not know the topic: it was deleted while the node was down, or the metadata log was lost or is that
  of another copy. Which is unknown, so the folder is renamed (`-stray`, as Kafka does) and left to the operator.
- It is not a partition's folder, only named like one: it is not touched. `--data` may name a folder that holds others.
"""

import asyncio
import logging
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.core.cluster.image import MetadataImage
from barnabas.model.ids import TopicPartition
from barnabas.storage.directory import DataDirectory, is_partition_folder, read_partition_metadata

if TYPE_CHECKING:
    from barnabas.broker.partition.table import PartitionTable

log = logging.getLogger(__name__)

_FOLDERS_AT_ONCE = 32  # before others get their turn; one takes 0.1 to 0.5 ms
_NAMED = 5


async def clear_stray_folders(
    table: "PartitionTable", data: DataDirectory, image: MetadataImage, threads: Executor
) -> None:
    removed: list[TopicPartition] = []
    moved_aside: list[TopicPartition] = []
    foreign: list[TopicPartition] = []
    topic_ids = {topic.id for topic in image.topics.values()}
    for number, stray in enumerate(table.folders_without_replica(), 1):
        folder = data.partition_path(stray)
        table.forget_folder(stray)
        try:
            if read_partition_metadata(folder, disk=data.disk) in topic_ids:
                threads.submit(_remove, data, data.doom_partition(stray))
                removed.append(stray)
            elif is_partition_folder(folder, disk=data.disk):
                data.move_aside(stray)
                moved_aside.append(stray)
            else:
                foreign.append(stray)
        except OSError as error:
            log.error("cannot move %s out of the way: %s", folder, error.strerror or error)
        if number % _FOLDERS_AT_ONCE == 0:
            await asyncio.sleep(0)
    _log_found(data, removed, moved_aside, foreign)


def _remove(data: DataDirectory, renamed: Path) -> None:
    try:
        data.disk.remove_tree(str(renamed))
    except OSError as error:
        log.error("cannot remove %s: %s", renamed, error.strerror or error)


def _log_found(
    data: DataDirectory,
    removed: list[TopicPartition],
    moved_aside: list[TopicPartition],
    foreign: list[TopicPartition],
) -> None:
    """A line each, however many there are."""
    if removed:
        text = "%s moved to other nodes while this one was down, their folders are removed: %s"
        log.warning(text, _counted(removed, "replica was", "replicas were"), _some(removed))
    if moved_aside:
        log.warning(
            "%s of topics that the cluster's metadata does not know, renamed to *-stray in %s: %s. If the topics were"
            " deleted while the node was down, remove the folders; if not, stop the node: its metadata log is not the"
            " one it had",
            _counted(moved_aside, "partition folder", "partition folders"),
            data.path,
            _some(moved_aside),
        )
    if foreign:
        log.warning(
            "%s in %s without anything of a partition in it, left alone: %s",
            _counted(foreign, "folder", "folders"),
            data.path,
            _some(foreign),
        )


def _counted(found: list[TopicPartition], one: str, several: str) -> str:
    return f"{len(found):,} {one if len(found) == 1 else several}"


def _some(found: list[TopicPartition]) -> str:
    more = f" and {len(found) - _NAMED:,} more" if len(found) > _NAMED else ""
    return ", ".join(str(partition) for partition in found[:_NAMED]) + more
