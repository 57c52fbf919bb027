"""Batches of the metadata log: what the machine must know of fetched ones, and how its own control records are written.

Control records are Kafka's (KIP-595, KIP-853): a key of version and type, and a struct: LeaderChangeMessage (2),
SnapshotHeader (3), SnapshotFooter (4), KRaftVersion (5), Voters (6).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import TYPE_CHECKING, assert_never

from barnabas.core.raft.effects import ControlRecord, KRaftVersion, LeaderChange
from barnabas.core.raft.messages import BatchSummary
from barnabas.core.raft.voters import Endpoint, ReplicaKey, Voter, VoterSet
from barnabas.wire.batch import crc_matches, iter_batches
from barnabas.wire.codec import ProtocolError, decode_struct, encode_struct
from barnabas.wire.records import iter_records

if TYPE_CHECKING:
    from barnabas.wire.messages import (
        KRaftVersionRecord,
        LeaderChangeMessage,
        LeaderChangeMessageVoter,
        VotersRecord,
        VotersRecordVoter,
    )

LEADER_CHANGE, K_RAFT_VERSION, VOTERS = 2, 5, 6
_KEY = struct.Struct(">hh")


def summaries(records: bytes | memoryview) -> tuple[BatchSummary, ...]:
    """Whole batches only: a last one that was cut off is left out. A damaged one is refused."""
    found: list[BatchSummary] = []
    data = memoryview(records)
    for position, header in iter_batches(data):
        if not crc_matches(data, position, header.size):
            raise ProtocolError(f"batch at offset {header.base_offset} of the metadata log is damaged")
        voters = voters_in(data[position : position + header.size]) if header.is_control else None
        found.append(BatchSummary(header.base_offset, header.last_offset, header.leader_epoch, voters))
    return tuple(found)


def voters_in(batch: bytes | memoryview) -> VoterSet | None:
    """The voter set a control batch carries, the last one if there were several."""
    voters = None
    for record in iter_records(batch):
        found = decode_control(record.key, record.value)
        if isinstance(found, VoterSet):
            voters = found
    return voters


def encode_control(record: ControlRecord) -> tuple[bytes, bytes]:
    """Key and value."""
    match record:
        case LeaderChange():
            # Version 0, as Kafka writes it: its own tools read no other. Directories are in the VotersRecord.
            body: dict[str, object] = {
                "version": 0,
                "leader_id": record.leader_id,
                "voters": [_key(key) for key in record.voters],
                "granting_voters": [_key(key) for key in record.granting_voters],
            }
            return _KEY.pack(0, LEADER_CHANGE), encode_struct("leader_change_message", 0, body)
        case KRaftVersion():
            body = {"version": 0, "k_raft_version": record.k_raft_version}
            return _KEY.pack(0, K_RAFT_VERSION), encode_struct("k_raft_version_record", 0, body)
        case VoterSet():
            body = {"version": 0, "voters": [_voter(voter) for voter in record.voters]}
            return _KEY.pack(0, VOTERS), encode_struct("voters_record", 0, body)
        case _:
            assert_never(record)


def decode_control(key: bytes | None, value: bytes | None) -> ControlRecord | None:
    """None for a kind that says nothing to the quorum (snapshot header and footer, or one yet to be invented)."""
    if key is None or value is None or len(key) < _KEY.size:
        raise ProtocolError("a control record without its key or value")
    kind = _KEY.unpack_from(key)[1]
    if kind == LEADER_CHANGE:
        version = struct.unpack_from(">h", value)[0] if len(value) >= 2 else 0
        body: LeaderChangeMessage = decode_struct("leader_change_message", min(version, 1), value)
        return LeaderChange(body.leader_id, _keys(body.voters), _keys(body.granting_voters))
    if kind == K_RAFT_VERSION:
        feature: KRaftVersionRecord = decode_struct("k_raft_version_record", 0, value)
        return KRaftVersion(feature.k_raft_version)
    if kind == VOTERS:
        voters: VotersRecord = decode_struct("voters_record", 0, value)
        return VoterSet.of(_voter_from(voter) for voter in voters.voters)
    return None


def _key(key: ReplicaKey) -> dict[str, object]:
    return {"voter_id": key.id, "voter_directory_id": key.directory_id}


def _keys(found: Iterable[LeaderChangeMessageVoter]) -> tuple[ReplicaKey, ...]:
    return tuple(ReplicaKey(voter.voter_id, voter.voter_directory_id) for voter in found)


def _voter(voter: Voter) -> dict[str, object]:
    return {
        "voter_id": voter.id,
        "voter_directory_id": voter.directory_id,
        "endpoints": [endpoint._asdict() for endpoint in voter.endpoints],
        "k_raft_version_feature": {
            "min_supported_version": voter.min_supported_version,
            "max_supported_version": voter.max_supported_version,
        },
    }


def _voter_from(found: VotersRecordVoter) -> Voter:
    feature = found.k_raft_version_feature
    endpoints = tuple(Endpoint(endpoint.name, endpoint.host, endpoint.port) for endpoint in found.endpoints)
    if not endpoints:
        raise ProtocolError(f"voter {found.voter_id} without an address")
    return Voter(
        found.voter_id,
        found.voter_directory_id,
        endpoints,
        feature.min_supported_version,
        feature.max_supported_version,
    )
