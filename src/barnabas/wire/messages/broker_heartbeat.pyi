"""The types of wire/schema/broker_heartbeat.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class BrokerHeartbeatRequest(Request[BrokerHeartbeatResponseBody], kw_only=True):
    broker_id: int = ...
    broker_epoch: int = ...
    current_metadata_offset: int = ...
    want_fence: bool = ...
    want_shut_down: bool = ...
    offline_log_dirs: list[bytes] = ...
    cordoned_log_dirs: list[bytes] | None = ...

class BrokerHeartbeatRequestBody(TypedDict, total=False):
    broker_id: int
    broker_epoch: int
    current_metadata_offset: int
    want_fence: bool
    want_shut_down: bool
    offline_log_dirs: Sequence[bytes]
    cordoned_log_dirs: Sequence[bytes] | None

class BrokerHeartbeatResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    error_code: int = ...
    is_caught_up: bool = ...
    is_fenced: bool = ...
    should_shut_down: bool = ...

class BrokerHeartbeatResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    error_code: int
    is_caught_up: bool
    is_fenced: bool
    should_shut_down: bool
