"""The types of wire/schema/push_telemetry.json, made by tools/message_types.py."""

from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class PushTelemetryRequest(Request[PushTelemetryResponseBody], kw_only=True):
    client_instance_id: bytes = ...
    subscription_id: int = ...
    terminating: bool = ...
    compression_type: int = ...
    metrics: bytes = ...

class PushTelemetryRequestBody(TypedDict, total=False):
    client_instance_id: bytes
    subscription_id: int
    terminating: bool
    compression_type: int
    metrics: bytes | memoryview

class PushTelemetryResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    error_code: int = ...

class PushTelemetryResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    error_code: int
