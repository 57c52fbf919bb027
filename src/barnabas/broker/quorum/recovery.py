"""A data folder of a cluster whose other nodes are lost, made the start of a cluster again: its node becomes the only
voter. Done while no node runs on the folder, whose lock is held meanwhile.

The whole metadata log counts as committed, for nobody is left to say otherwise. Written in an order that a crash may
cut anywhere: first the epoch, then the partitions, and the voter set. Until that is there the folder waits for its old
quorum as before, and the same can be done again. Last comes a new cluster id: nodes refuse what another cluster sends,
so an old folder of a lost node that is started after all, or two of them that form the old quorum again, stay apart.
"""

from pathlib import Path

from msgspec import Struct

from barnabas.broker.quorum.metadata_log import MetadataLog
from barnabas.broker.quorum.state_file import read_state, write_state
from barnabas.core.cluster.image import MetadataImage
from barnabas.core.cluster.partitions.last_replica import last_replica_records
from barnabas.core.raft import Endpoint, PersistentState, Voter, VoterSet
from barnabas.core.raft.effects import AppendBatch
from barnabas.model.ids import ZERO_UUID, new_uuid, uuid_text
from barnabas.storage.directory import META, DataDirectory, DirectoryError
from barnabas.storage.disk import DISK, Disk

_RECORDS_PER_BATCH = 1_000
_ANY_ADDRESS = Endpoint("PLAINTEXT", "127.0.0.1", 9092)  # the node writes its own when it leads


class Recovery:
    """An open folder: what it holds, and `make_alone`."""

    def __init__(self, path: Path, disk: Disk = DISK) -> None:
        if not disk.exists(str(path / META)):  # opening it would make one
            raise DirectoryError(
                f"{path} is no data folder of a node", "Give the folder that --data or log.dirs named."
            )
        self._disk = disk
        self._data = DataDirectory.open(path, disk=disk)
        try:
            self._metadata = MetadataLog(path, disk)
            image, view = self._metadata.load()
            self._epochs = [epoch for epoch, _ in view.epochs]
            self.image: MetadataImage = self._metadata.replay(image, view.end_offset)
            self.voters = view.voters[-1][1] if view.voters else VoterSet(())
            assert self._data.node_id is not None
            self.node_id = self._data.node_id
            if self.image.offset < 0:
                raise DirectoryError(f"{path} holds no metadata of its cluster", "It was never part of one.")
        except BaseException:
            self.close()
            raise

    @property
    def others(self) -> list[int]:
        """Who else voted or kept records."""
        return sorted({*(voter.id for voter in self.voters.voters), *self.image.brokers} - {self.node_id})

    def held(self) -> "Held":
        partitions = [each for topic in self.image.topics.values() for each in topic.partitions]
        here = [each for each in partitions if self.node_id in each.replicas]
        behind = sum(self.node_id not in each.isr for each in here)
        return Held(len(here), behind, len(partitions) - len(here))

    def make_alone(self, now_ms: int) -> str:
        """Gives the id of the new cluster."""
        log, folder = self._metadata, self._metadata.folder
        epoch = max([self._state_epoch(), self.image.epoch, *self._epochs]) + 1
        write_state(self._disk, folder, PersistentState(epoch))
        records = last_replica_records(self.image, self.node_id)
        for start in range(0, len(records), _RECORDS_PER_BATCH):
            chunk = records[start : start + _RECORDS_PER_BATCH]
            log.append(AppendBatch(log.log.log_end_offset, epoch, records=chunk), now_ms)
        log.log.flush()
        known = self.voters.get(self.node_id)
        endpoints = known.endpoints if known is not None else (_ANY_ADDRESS,)
        alone = VoterSet.of([Voter(self.node_id, self._data.directory_id or ZERO_UUID, endpoints)])
        log.append(AppendBatch(log.log.log_end_offset, epoch, control=(alone,)), now_ms)
        log.log.flush()
        cluster_id = uuid_text(new_uuid())
        self._data.rename_cluster(cluster_id)
        return cluster_id

    def _state_epoch(self) -> int:
        try:
            return read_state(self._disk, self._metadata.folder).epoch
        except DirectoryError:  # damaged: the votes in it were for a quorum that is gone, and the log has its epochs
            return 0

    def close(self) -> None:
        """The records' own logs were not touched, so whether they were closed cleanly is as it was."""
        if hasattr(self._metadata, "log"):
            self._metadata.close()
        self._data.close(clean=self._data.clean, broker_epoch=self._data.clean_epoch)


class Held(Struct, frozen=True):
    """Partitions with a replica in the folder, those of them that were not in sync, and those without a replica."""

    here: int
    behind: int
    elsewhere: int
