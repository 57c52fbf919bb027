"""The types of wire/schema/api_versions.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class ApiVersionsRequest(Request[ApiVersionsResponseBody], kw_only=True):
    client_software_name: str = ...
    client_software_version: str = ...

class ApiVersionsRequestBody(TypedDict, total=False):
    client_software_name: str
    client_software_version: str

class ApiVersion(Struct, kw_only=True):
    api_key: int = ...
    min_version: int = ...
    max_version: int = ...

class ApiVersionBody(TypedDict, total=False):
    api_key: int
    min_version: int
    max_version: int

class SupportedFeatureKey(Struct, kw_only=True):
    name: str = ...
    min_version: int = ...
    max_version: int = ...

class SupportedFeatureKeyBody(TypedDict, total=False):
    name: str
    min_version: int
    max_version: int

class FinalizedFeatureKey(Struct, kw_only=True):
    name: str = ...
    max_version_level: int = ...
    min_version_level: int = ...

class FinalizedFeatureKeyBody(TypedDict, total=False):
    name: str
    max_version_level: int
    min_version_level: int

class ApiVersionsResponse(Struct, kw_only=True):
    error_code: int = ...
    api_keys: list[ApiVersion] = ...
    throttle_time_ms: int = ...
    supported_features: list[SupportedFeatureKey] = ...
    finalized_features_epoch: int = ...
    finalized_features: list[FinalizedFeatureKey] = ...
    zk_migration_ready: bool = ...

class ApiVersionsResponseBody(TypedDict, total=False):
    error_code: int
    api_keys: Sequence[ApiVersionBody]
    throttle_time_ms: int
    supported_features: Sequence[SupportedFeatureKeyBody]
    finalized_features_epoch: int
    finalized_features: Sequence[FinalizedFeatureKeyBody]
    zk_migration_ready: bool
