"""The types of wire/schema/describe_user_scram_credentials.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class UserName(Struct, kw_only=True):
    name: str = ...

class UserNameBody(TypedDict, total=False):
    name: str

class DescribeUserScramCredentialsRequest(Request[DescribeUserScramCredentialsResponseBody], kw_only=True):
    users: list[UserName] | None = ...

class DescribeUserScramCredentialsRequestBody(TypedDict, total=False):
    users: Sequence[UserNameBody] | None

class CredentialInfo(Struct, kw_only=True):
    mechanism: int = ...
    iterations: int = ...

class CredentialInfoBody(TypedDict, total=False):
    mechanism: int
    iterations: int

class DescribeUserScramCredentialsResult(Struct, kw_only=True):
    user: str = ...
    error_code: int = ...
    error_message: str | None = ...
    credential_infos: list[CredentialInfo] = ...

class DescribeUserScramCredentialsResultBody(TypedDict, total=False):
    user: str
    error_code: int
    error_message: str | None
    credential_infos: Sequence[CredentialInfoBody]

class DescribeUserScramCredentialsResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    error_code: int = ...
    error_message: str | None = ...
    results: list[DescribeUserScramCredentialsResult] = ...

class DescribeUserScramCredentialsResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    results: Sequence[DescribeUserScramCredentialsResultBody]
