"""The types of wire/schema/remove_raft_voter.json, made by tools/message_types.py."""

from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class RemoveRaftVoterRequest(Request[RemoveRaftVoterResponseBody], kw_only=True):
    cluster_id: str | None = ...
    voter_id: int = ...
    voter_directory_id: bytes = ...

class RemoveRaftVoterRequestBody(TypedDict, total=False):
    cluster_id: str | None
    voter_id: int
    voter_directory_id: bytes

class RemoveRaftVoterResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    error_code: int = ...
    error_message: str | None = ...

class RemoveRaftVoterResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
