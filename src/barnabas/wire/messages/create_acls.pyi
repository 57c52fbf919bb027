"""The types of wire/schema/create_acls.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class AclCreation(Struct, kw_only=True):
    resource_type: int = ...
    resource_name: str = ...
    resource_pattern_type: int = ...
    principal: str = ...
    host: str = ...
    operation: int = ...
    permission_type: int = ...

class AclCreationBody(TypedDict, total=False):
    resource_type: int
    resource_name: str
    resource_pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int

class CreateAclsRequest(Request[CreateAclsResponseBody], kw_only=True):
    creations: list[AclCreation] = ...

class CreateAclsRequestBody(TypedDict, total=False):
    creations: Sequence[AclCreationBody]

class AclCreationResult(Struct, kw_only=True):
    error_code: int = ...
    error_message: str | None = ...

class AclCreationResultBody(TypedDict, total=False):
    error_code: int
    error_message: str | None

class CreateAclsResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    results: list[AclCreationResult] = ...

class CreateAclsResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    results: Sequence[AclCreationResultBody]
