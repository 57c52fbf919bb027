"""The types of wire/schema/describe_delegation_token.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class DescribeDelegationTokenOwner(Struct, kw_only=True):
    principal_type: str = ...
    principal_name: str = ...

class DescribeDelegationTokenOwnerBody(TypedDict, total=False):
    principal_type: str
    principal_name: str

class DescribeDelegationTokenRequest(Request[DescribeDelegationTokenResponseBody], kw_only=True):
    owners: list[DescribeDelegationTokenOwner] | None = ...

class DescribeDelegationTokenRequestBody(TypedDict, total=False):
    owners: Sequence[DescribeDelegationTokenOwnerBody] | None

class DescribedDelegationTokenRenewer(Struct, kw_only=True):
    principal_type: str = ...
    principal_name: str = ...

class DescribedDelegationTokenRenewerBody(TypedDict, total=False):
    principal_type: str
    principal_name: str

class DescribedDelegationToken(Struct, kw_only=True):
    principal_type: str = ...
    principal_name: str = ...
    issue_timestamp: int = ...
    expiry_timestamp: int = ...
    max_timestamp: int = ...
    token_id: str = ...
    hmac: bytes = ...
    renewers: list[DescribedDelegationTokenRenewer] = ...
    token_requester_principal_type: str = ...
    token_requester_principal_name: str = ...

class DescribedDelegationTokenBody(TypedDict, total=False):
    principal_type: str
    principal_name: str
    issue_timestamp: int
    expiry_timestamp: int
    max_timestamp: int
    token_id: str
    hmac: bytes | memoryview
    renewers: Sequence[DescribedDelegationTokenRenewerBody]
    token_requester_principal_type: str
    token_requester_principal_name: str

class DescribeDelegationTokenResponse(Struct, kw_only=True):
    error_code: int = ...
    tokens: list[DescribedDelegationToken] = ...
    throttle_time_ms: int = ...

class DescribeDelegationTokenResponseBody(TypedDict, total=False):
    error_code: int
    tokens: Sequence[DescribedDelegationTokenBody]
    throttle_time_ms: int
