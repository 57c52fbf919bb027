"""`quorum-state`: the epoch, the vote and the leader a member of the quorum must not forget (KIP-595, KIP-853).

Kafka's file: one JSON object beside the segments of the metadata log, with a checksum of ours in it, for a flipped bit
may not become another epoch. Replaced in one step and flushed, name included, before anything that follows from it
leaves the node.
"""

import json

from barnabas.core.raft import PersistentState, ReplicaKey
from barnabas.model.ids import parse_uuid, uuid_text
from barnabas.storage.directory import DirectoryError
from barnabas.storage.disk import Disk
from barnabas.wire.checksum import crc32c

FILE = "quorum-state"
_NOBODY = -1


def read_state(disk: Disk, folder: str, *, new: bool = False) -> PersistentState:
    """A fresh one when there is none, of a `new` member or of one that begins the cluster; a damaged one stops the
    start, for a vote may not be given twice."""
    path = f"{folder}/{FILE}"
    data = disk.read_whole(path)
    if data is None:
        return PersistentState(new=new)
    try:
        found = json.loads(data)
        if _crc(found) != found.get("crc32c", _crc(found)):
            raise ValueError("the checksum does not match")
        voted_id, leader_id = int(found.get("votedId", _NOBODY)), int(found.get("leaderId", _NOBODY))
        directory = parse_uuid(found["votedDirectoryId"]) if "votedDirectoryId" in found else bytes(16)
        return PersistentState(
            int(found["leaderEpoch"]),
            None if voted_id == _NOBODY else ReplicaKey(voted_id, directory),
            None if leader_id == _NOBODY else leader_id,
            bool(found.get("new", False)),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DirectoryError(
            f"{path} is damaged ({error}), so the node cannot know how it voted: empty its data folder, and the others"
            " fill it again"
        ) from None


def write_state(disk: Disk, folder: str, state: PersistentState) -> None:
    """On disk when this returns."""
    voted = state.voted_for
    body: dict[str, object] = {
        "leaderId": _NOBODY if state.leader_id is None else state.leader_id,
        "leaderEpoch": state.epoch,
        "votedId": _NOBODY if voted is None else voted.id,
        "data_version": 1,
    }
    if voted is not None:
        body["votedDirectoryId"] = uuid_text(voted.directory_id)
    if state.new:
        body["new"] = True
    body["crc32c"] = _crc(body)
    disk.write_whole(f"{folder}/{FILE}", json.dumps(body, separators=(",", ":")).encode())


def _crc(body: dict[str, object]) -> int:
    told = {name: value for name, value in body.items() if name != "crc32c"}
    return crc32c(json.dumps(told, sort_keys=True).encode())
