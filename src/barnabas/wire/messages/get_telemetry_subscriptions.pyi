"""The types of wire/schema/get_telemetry_subscriptions.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class GetTelemetrySubscriptionsRequest(Request[GetTelemetrySubscriptionsResponseBody], kw_only=True):
    client_instance_id: bytes = ...

class GetTelemetrySubscriptionsRequestBody(TypedDict, total=False):
    client_instance_id: bytes

class GetTelemetrySubscriptionsResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    error_code: int = ...
    client_instance_id: bytes = ...
    subscription_id: int = ...
    accepted_compression_types: list[int] = ...
    push_interval_ms: int = ...
    telemetry_max_bytes: int = ...
    delta_temporality: bool = ...
    requested_metrics: list[str] = ...

class GetTelemetrySubscriptionsResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    error_code: int
    client_instance_id: bytes
    subscription_id: int
    accepted_compression_types: Sequence[int]
    push_interval_ms: int
    telemetry_max_bytes: int
    delta_temporality: bool
    requested_metrics: Sequence[str]
