"""The types of wire/schema/add_raft_voter.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class AddRaftVoterRequestListener(Struct, kw_only=True):
    name: str = ...
    host: str = ...
    port: int = ...

class AddRaftVoterRequestListenerBody(TypedDict, total=False):
    name: str
    host: str
    port: int

class AddRaftVoterRequest(Request[AddRaftVoterResponseBody], kw_only=True):
    cluster_id: str | None = ...
    timeout_ms: int = ...
    voter_id: int = ...
    voter_directory_id: bytes = ...
    listeners: list[AddRaftVoterRequestListener] = ...
    ack_when_committed: bool = ...

class AddRaftVoterRequestBody(TypedDict, total=False):
    cluster_id: str | None
    timeout_ms: int
    voter_id: int
    voter_directory_id: bytes
    listeners: Sequence[AddRaftVoterRequestListenerBody]
    ack_when_committed: bool

class AddRaftVoterResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    error_code: int = ...
    error_message: str | None = ...

class AddRaftVoterResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
