"""The types of wire/schema/metadata/register_controller_record.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

class RegisterControllerRecordEndPoint(Struct, kw_only=True):
    name: str = ...
    host: str = ...
    port: int = ...
    security_protocol: int = ...

class RegisterControllerRecordEndPointBody(TypedDict, total=False):
    name: str
    host: str
    port: int
    security_protocol: int

class RegisterControllerRecordFeature(Struct, kw_only=True):
    name: str = ...
    min_supported_version: int = ...
    max_supported_version: int = ...

class RegisterControllerRecordFeatureBody(TypedDict, total=False):
    name: str
    min_supported_version: int
    max_supported_version: int

class RegisterControllerRecord(Struct, kw_only=True):
    controller_id: int = ...
    incarnation_id: bytes = ...
    zk_migration_ready: bool = ...
    end_points: list[RegisterControllerRecordEndPoint] = ...
    features: list[RegisterControllerRecordFeature] = ...

class RegisterControllerRecordBody(TypedDict, total=False):
    controller_id: int
    incarnation_id: bytes
    zk_migration_ready: bool
    end_points: Sequence[RegisterControllerRecordEndPointBody]
    features: Sequence[RegisterControllerRecordFeatureBody]
