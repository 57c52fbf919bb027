"""One data directory of a node (`log.dirs`): its lock, its identity, its checkpoints, its partitions' folders.

Refuses to open a directory another process has open, or one that belongs to another node or cluster; each refusal is
one line a person can act on. File names and formats are Kafka's: `.lock`, `meta.properties` (version 1, KIP-858), the
four offset checkpoints, `.kafka_cleanshutdown`, and `partition.metadata` in each folder.
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

from barnabas.model.ids import METADATA_TOPIC, TopicPartition, new_uuid, parse_uuid, uuid_text
from barnabas.storage import checkpoints, stop_snapshots
from barnabas.storage.disk import DISK, Disk, OpenFile
from barnabas.storage.stop_snapshots import AtStop

RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
PRODUCERS_AT_STOP = "producers-at-clean-stop"  # our own (stop_snapshots.py)
LAST_LIFE = "last-life.json"  # our own: of this boot of the machine, or of another?
META = "meta.properties"
PARTITION_METADATA = "partition.metadata"

_PARTITION_FOLDER = re.compile(r"([a-zA-Z0-9._-]+)-(\d+)")
_SEGMENT_FILE = re.compile(r"\d{20}\.log")
_DELETED_FOLDER = re.compile(r".+\.[0-9a-f]{32}-delete")


class DirectoryError(Exception):
    """This directory cannot be used, why, and what a person can do about it."""

    def __init__(self, problem: str, way_out: str = "") -> None:
        super().__init__(problem)
        self.way_out = way_out


def _refuse_kafkas(path: Path, disk: Disk) -> None:
    """Before the first write: Apache Kafka must find its files as it left them. Java writes a comment with the date
    into meta.properties, and `kafka-storage format` leaves a bootstrap.checkpoint; a node of ours writes neither."""
    meta = disk.read_whole(str(path / META)) or b""
    if meta.startswith(b"#") or disk.exists(str(path / "bootstrap.checkpoint")):
        raise DirectoryError(
            f"{path} was written by Apache Kafka, and a node does not take over its files",
            "Use another folder with --data; docs/moving-in.md says how to bring the records over.",
        )


class DataDirectory:
    """An open, locked data directory. `clean` tells whether the last owner stopped cleanly."""

    def __init__(self, path: Path, lock: OpenFile, disk: Disk, new_id: Callable[[], bytes]) -> None:
        self.path = path
        self._text = str(path)
        self.disk = disk
        self._new_id = new_id
        self._lock: OpenFile | None = lock
        self.clean = False
        self.clean_epoch = -1  # of the broker that stopped cleanly
        self.cluster_id: str | None = None
        self.node_id: int | None = None
        self.directory_id: bytes | None = None

    @classmethod
    def open(cls, path: Path, *, disk: Disk = DISK, new_id: Callable[[], bytes] = new_uuid) -> "DataDirectory":
        """Make the directory when it is not there, lock it, read who it belongs to. The clean-shutdown marker is taken
        away at once: from here on, a stop that does not put it back was not clean."""
        try:
            _refuse_kafkas(path, disk)
            if disk.make_directory(str(path)):
                disk.sync_directory(str(path.absolute().parent))  # else a power loss takes the whole of it
            lock = disk.open(str(path / ".lock"), write=True, create=True)
        except OSError as error:
            problem = f"cannot use {path} as data directory: {error.strerror}"
            raise DirectoryError(problem, "Check who owns it, or use another folder with --data.") from error
        try:
            disk.lock(lock)
        except OSError:
            problem = f"{path} is in use by another process (its .lock is held)"
            raise DirectoryError(problem, "Use another folder with --data, or stop what uses this one.") from None
        directory = cls(path, lock, disk, new_id)
        directory._read_identity()
        marker = path / CLEAN_SHUTDOWN
        directory.clean = disk.exists(str(marker))
        directory.clean_epoch = directory._marked_epoch()
        disk.unlink(str(marker))
        disk.sync_directory(str(path))
        return directory

    def close(self, *, clean: bool, broker_epoch: int = -1) -> None:
        """Let go of it; `clean` only when every log was closed and every checkpoint written."""
        if self._lock is None:
            return
        if clean:
            marker = json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":"))
            self.disk.write_whole(str(self.path / CLEAN_SHUTDOWN), marker.encode())
        self._lock = None

    def can_sync_all(self) -> bool:
        return self.disk.can_sync_filesystem()

    def sync_all(self) -> None:
        """Everything written so far is on disk, whoever wrote it. The lock has been open for as long as the directory,
        so a write that failed in that time is told, also when nobody asked about its file."""
        assert self._lock is not None
        self.disk.sync_filesystem(self._lock.fd, str(self.path))

    def _marked_epoch(self) -> int:
        try:
            found = json.loads(self.disk.read_whole(str(self.path / CLEAN_SHUTDOWN)) or b"{}")
            return int(found.get("brokerEpoch", -1))
        except (ValueError, AttributeError, TypeError):
            return -1

    def read_last_life(self) -> tuple[str, int]:
        """(boot of the machine, broker epoch) of the life before this one; ("", -1) when nobody knows."""
        try:
            found = json.loads(self.disk.read_whole(str(self.path / LAST_LIFE)) or b"{}")
            return str(found["bootId"]), int(found["brokerEpoch"])
        except (ValueError, KeyError, TypeError):
            return "", -1

    def write_last_life(self, boot_id: str, broker_epoch: int) -> None:
        """Not flushed: it says that nothing in memory was lost, and if it is lost itself, that is not so."""
        text = json.dumps({"bootId": boot_id, "brokerEpoch": broker_epoch}, separators=(",", ":"))
        self.disk.write_whole(str(self.path / LAST_LIFE), text.encode(), sync=False)

    # --- identity -----------------------------------------------------------------------------------------------------

    def _read_identity(self) -> None:
        data = self.disk.read_whole(str(self.path / META))
        if data is None:
            if self.disk.exists(str(self.path / f"{METADATA_TOPIC}-0")):
                problem = f"{self.path} has a metadata log, but no {META}: it is not the whole folder of a node"
                raise DirectoryError(problem, f"Put its {META} back, or use another folder with --data.")
            return
        try:
            lines = [line for line in data.decode().splitlines() if line and not line.startswith("#")]
            properties = dict(line.split("=", 1) for line in lines)
            self.cluster_id = properties["cluster.id"]
            self.node_id = int(properties.get("node.id", properties.get("broker.id", "")))
            if "directory.id" in properties:
                self.directory_id = parse_uuid(properties["directory.id"])
        except (ValueError, KeyError) as error:
            raise DirectoryError(f"{self.path / META} is damaged: {error}") from None

    def claim(self, cluster_id: str, node_id: int) -> None:
        """Say whose directory it is; refuses when it is somebody else's."""
        for what, have, want in (("cluster", self.cluster_id, cluster_id), ("node", self.node_id, node_id)):
            if have is not None and have != want:
                problem = f"{self.path} belongs to {what} {have}, not {want}"
                raise DirectoryError(problem, "Use the folder that goes with this node, with --data, or a new one.")
        if self.directory_id is not None and self.node_id is not None:
            return
        self._write_identity(cluster_id, node_id)

    def rename_cluster(self, cluster_id: str) -> None:
        """The folder of a node that leaves its cluster for another one."""
        assert self.node_id is not None
        self._write_identity(cluster_id, self.node_id)

    def _write_identity(self, cluster_id: str, node_id: int) -> None:
        self.cluster_id, self.node_id = cluster_id, node_id
        self.directory_id = self.directory_id or self._new_id()
        text = f"version=1\ncluster.id={cluster_id}\nnode.id={node_id}\ndirectory.id={uuid_text(self.directory_id)}\n"
        self.disk.write_whole(str(self.path / META), text.encode())

    # --- checkpoints --------------------------------------------------------------------------------------------------

    def read_checkpoint(self, name: str) -> dict[TopicPartition, int]:
        return checkpoints.read_offsets(str(self.path / name), disk=self.disk)

    def write_checkpoint(self, name: str, offsets: Mapping[TopicPartition, int], *, sync: bool = True) -> None:
        """Replaced in one step. An OSError (a full disk) leaves the old one, which is always safe."""
        checkpoints.write_offsets(str(self.path / name), offsets, sync=sync, disk=self.disk)

    def read_producers_at_stop(self) -> dict[TopicPartition, AtStop]:
        """What the last owner knew of the producers of many logs, if it stopped cleanly."""
        data = self.disk.read_whole(str(self.path / PRODUCERS_AT_STOP)) if self.clean else None
        found = stop_snapshots.decode(data, self.clean_epoch) if data is not None else {}
        named = ((_PARTITION_FOLDER.fullmatch(folder), at_stop) for folder, at_stop in found.items())
        return {TopicPartition(match[1], int(match[2])): at_stop for match, at_stop in named if match}

    def write_producers_at_stop(self, logs: Mapping[TopicPartition, AtStop], broker_epoch: int, *, sync: bool) -> None:
        """For the clean stop of this broker epoch. An OSError (a full disk) leaves the old one, which is not used."""
        path = str(self.path / PRODUCERS_AT_STOP)
        if not logs:
            self.disk.unlink(path)
            return
        named = {f"{partition.topic}-{partition.partition}": at_stop for partition, at_stop in logs.items()}
        self.disk.write_whole(path, stop_snapshots.encode(broker_epoch, named), sync=sync)

    # --- partitions ---------------------------------------------------------------------------------------------------

    def partition_path(self, partition: TopicPartition) -> Path:
        return self.path / f"{partition.topic}-{partition.partition}"

    def partition_folder(self, partition: TopicPartition) -> str:
        """The same as text: to make a Path takes 15 us, and a start may open thousands."""
        return f"{self._text}/{partition.topic}-{partition.partition}"

    def partition_directories(self) -> list[TopicPartition]:
        """Every folder that is named like a partition; topics may hold dashes, so the last one counts."""
        names = map(_PARTITION_FOLDER.fullmatch, self.disk.folders(str(self.path)))
        return [TopicPartition(match[1], int(match[2])) for match in names if match]

    def doom_partition(self, partition: TopicPartition) -> Path:
        """Rename a folder so that it is no partition any more, before its files are removed (Kafka's `-delete`)."""
        unique = self._new_id().hex()
        doomed = self.path / f"{partition.topic[:180]}-{partition.partition}.{unique}-delete"
        self.disk.rename(str(self.partition_path(partition)), str(doomed))
        return doomed

    def move_aside(self, partition: TopicPartition) -> Path:
        """Rename a folder so that it is no partition any more, and keep it (Kafka's `-stray`)."""
        unique = self._new_id().hex()
        kept = self.path / f"{partition.topic[:180]}-{partition.partition}.{unique}-stray"
        self.disk.rename(str(self.partition_path(partition)), str(kept))
        return kept

    def remove_doomed(self) -> int:
        """Remove the folders of deleted partitions that a crash left; gives how many."""
        doomed = [name for name in self.disk.folders(str(self.path)) if _DELETED_FOLDER.fullmatch(name)]
        for name in doomed:
            self.disk.remove_tree(str(self.path / name))
        return len(doomed)


def write_partition_metadata(folder: Path | str, topic_id: bytes, *, disk: Disk = DISK) -> str:
    """Which topic a folder belongs to. Not flushed yet: gives the path, for the next flush of the log to cover, so that
    no record counts as flushed in a folder that a power loss leaves without a name."""
    path = f"{folder}/{PARTITION_METADATA}"
    disk.write_whole(path, f"version: 0\ntopic_id: {uuid_text(topic_id)}".encode(), sync=False)
    return path


def is_partition_folder(folder: Path, *, disk: Disk = DISK) -> bool:
    """Is there anything of a partition in it, or is it only named like one?"""
    names = disk.scan(str(folder))
    return PARTITION_METADATA in names or any(_SEGMENT_FILE.fullmatch(name) for name in names)


def read_partition_metadata(folder: Path | str, *, disk: Disk = DISK) -> bytes | None:
    """The topic id, None when the file is missing or damaged."""
    data = disk.read_whole(f"{folder}/{PARTITION_METADATA}")
    return _topic_id_in(data) if data else None


@lru_cache(256)  # it is the same for every partition of a topic
def _topic_id_in(data: bytes) -> bytes | None:
    match = re.fullmatch(r"version: 0\ntopic_id: (\S+)\s*", data.decode(errors="replace"))
    try:
        return parse_uuid(match[1]) if match else None
    except ValueError:
        return None
