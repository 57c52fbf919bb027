"""What a member of the quorum finds on its disk at the start: the log, its newest snapshot, how it last voted."""

from typing import NamedTuple

from barnabas.broker.quorum.metadata_log import MetadataLog
from barnabas.broker.quorum.state_file import read_state
from barnabas.core.cluster.image import MetadataImage
from barnabas.core.raft import LogView, PersistentState, VoterSet
from barnabas.storage.disk import Disk


class LoadedQuorum(NamedTuple):
    image: MetadataImage  # of the newest snapshot
    view: LogView
    state: PersistentState


def load(metadata: MetadataLog, initial_voters: VoterSet | None, disk: Disk) -> LoadedQuorum:
    """In any thread, before the log is used by anybody: decoding the snapshot of 10,000 partitions takes 0.1 s. Raises
    DirectoryError."""
    image, view = metadata.load(initial_voters)
    # An empty disk of a voter that others know by its id alone: it may have been a fuller one (newcomers.py).
    new = view.end_offset == 0 and initial_voters is not None and len(initial_voters) > 1
    return LoadedQuorum(image, view, read_state(disk, metadata.folder, new=new))
