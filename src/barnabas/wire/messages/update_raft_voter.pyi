"""The types of wire/schema/update_raft_voter.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class UpdateRaftVoterRequestListener(Struct, kw_only=True):
    name: str = ...
    host: str = ...
    port: int = ...

class UpdateRaftVoterRequestListenerBody(TypedDict, total=False):
    name: str
    host: str
    port: int

class UpdateRaftVoterRequestKRaftVersionFeature(Struct, kw_only=True):
    min_supported_version: int = ...
    max_supported_version: int = ...

class UpdateRaftVoterRequestKRaftVersionFeatureBody(TypedDict, total=False):
    min_supported_version: int
    max_supported_version: int

class UpdateRaftVoterRequest(Request[UpdateRaftVoterResponseBody], kw_only=True):
    cluster_id: str | None = ...
    current_leader_epoch: int = ...
    voter_id: int = ...
    voter_directory_id: bytes = ...
    listeners: list[UpdateRaftVoterRequestListener] = ...
    k_raft_version_feature: UpdateRaftVoterRequestKRaftVersionFeature = ...

class UpdateRaftVoterRequestBody(TypedDict, total=False):
    cluster_id: str | None
    current_leader_epoch: int
    voter_id: int
    voter_directory_id: bytes
    listeners: Sequence[UpdateRaftVoterRequestListenerBody]
    k_raft_version_feature: UpdateRaftVoterRequestKRaftVersionFeatureBody

class CurrentLeader(Struct, kw_only=True):
    leader_id: int = ...
    leader_epoch: int = ...
    host: str = ...
    port: int = ...

class CurrentLeaderBody(TypedDict, total=False):
    leader_id: int
    leader_epoch: int
    host: str
    port: int

class UpdateRaftVoterResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    error_code: int = ...
    current_leader: CurrentLeader = ...

class UpdateRaftVoterResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    error_code: int
    current_leader: CurrentLeaderBody
