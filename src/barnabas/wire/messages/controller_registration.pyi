"""The types of wire/schema/controller_registration.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class ControllerRegistrationRequestListener(Struct, kw_only=True):
    name: str = ...
    host: str = ...
    port: int = ...
    security_protocol: int = ...

class ControllerRegistrationRequestListenerBody(TypedDict, total=False):
    name: str
    host: str
    port: int
    security_protocol: int

class ControllerRegistrationRequestFeature(Struct, kw_only=True):
    name: str = ...
    min_supported_version: int = ...
    max_supported_version: int = ...

class ControllerRegistrationRequestFeatureBody(TypedDict, total=False):
    name: str
    min_supported_version: int
    max_supported_version: int

class ControllerRegistrationRequest(Request[ControllerRegistrationResponseBody], kw_only=True):
    controller_id: int = ...
    incarnation_id: bytes = ...
    zk_migration_ready: bool = ...
    listeners: list[ControllerRegistrationRequestListener] = ...
    features: list[ControllerRegistrationRequestFeature] = ...

class ControllerRegistrationRequestBody(TypedDict, total=False):
    controller_id: int
    incarnation_id: bytes
    zk_migration_ready: bool
    listeners: Sequence[ControllerRegistrationRequestListenerBody]
    features: Sequence[ControllerRegistrationRequestFeatureBody]

class ControllerRegistrationResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    error_code: int = ...
    error_message: str | None = ...

class ControllerRegistrationResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
