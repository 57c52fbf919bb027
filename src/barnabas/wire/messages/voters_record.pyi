"""The types of wire/schema/voters_record.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

class VotersRecordEndpoint(Struct, kw_only=True):
    name: str = ...
    host: str = ...
    port: int = ...

class VotersRecordEndpointBody(TypedDict, total=False):
    name: str
    host: str
    port: int

class VotersRecordKRaftVersionFeature(Struct, kw_only=True):
    min_supported_version: int = ...
    max_supported_version: int = ...

class VotersRecordKRaftVersionFeatureBody(TypedDict, total=False):
    min_supported_version: int
    max_supported_version: int

class VotersRecordVoter(Struct, kw_only=True):
    voter_id: int = ...
    voter_directory_id: bytes = ...
    endpoints: list[VotersRecordEndpoint] = ...
    k_raft_version_feature: VotersRecordKRaftVersionFeature = ...

class VotersRecordVoterBody(TypedDict, total=False):
    voter_id: int
    voter_directory_id: bytes
    endpoints: Sequence[VotersRecordEndpointBody]
    k_raft_version_feature: VotersRecordKRaftVersionFeatureBody

class VotersRecord(Struct, kw_only=True):
    version: int = ...
    voters: list[VotersRecordVoter] = ...

class VotersRecordBody(TypedDict, total=False):
    version: int
    voters: Sequence[VotersRecordVoterBody]
