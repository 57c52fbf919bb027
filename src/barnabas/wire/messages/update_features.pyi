"""The types of wire/schema/update_features.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class FeatureUpdateKey(Struct, kw_only=True):
    feature: str = ...
    max_version_level: int = ...
    allow_downgrade: bool = ...
    upgrade_type: int = ...

class FeatureUpdateKeyBody(TypedDict, total=False):
    feature: str
    max_version_level: int
    allow_downgrade: bool
    upgrade_type: int

class UpdateFeaturesRequest(Request[UpdateFeaturesResponseBody], kw_only=True):
    timeout_ms: int = ...
    feature_updates: list[FeatureUpdateKey] = ...
    validate_only: bool = ...

class UpdateFeaturesRequestBody(TypedDict, total=False):
    timeout_ms: int
    feature_updates: Sequence[FeatureUpdateKeyBody]
    validate_only: bool

class UpdatableFeatureResult(Struct, kw_only=True):
    feature: str = ...
    error_code: int = ...
    error_message: str | None = ...

class UpdatableFeatureResultBody(TypedDict, total=False):
    feature: str
    error_code: int
    error_message: str | None

class UpdateFeaturesResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    error_code: int = ...
    error_message: str | None = ...
    results: list[UpdatableFeatureResult] = ...

class UpdateFeaturesResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    results: Sequence[UpdatableFeatureResultBody]
