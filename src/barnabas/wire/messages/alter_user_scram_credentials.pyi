"""The types of wire/schema/alter_user_scram_credentials.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class ScramCredentialDeletion(Struct, kw_only=True):
    name: str = ...
    mechanism: int = ...

class ScramCredentialDeletionBody(TypedDict, total=False):
    name: str
    mechanism: int

class ScramCredentialUpsertion(Struct, kw_only=True):
    name: str = ...
    mechanism: int = ...
    iterations: int = ...
    salt: bytes = ...
    salted_password: bytes = ...

class ScramCredentialUpsertionBody(TypedDict, total=False):
    name: str
    mechanism: int
    iterations: int
    salt: bytes | memoryview
    salted_password: bytes | memoryview

class AlterUserScramCredentialsRequest(Request[AlterUserScramCredentialsResponseBody], kw_only=True):
    deletions: list[ScramCredentialDeletion] = ...
    upsertions: list[ScramCredentialUpsertion] = ...

class AlterUserScramCredentialsRequestBody(TypedDict, total=False):
    deletions: Sequence[ScramCredentialDeletionBody]
    upsertions: Sequence[ScramCredentialUpsertionBody]

class AlterUserScramCredentialsResult(Struct, kw_only=True):
    user: str = ...
    error_code: int = ...
    error_message: str | None = ...

class AlterUserScramCredentialsResultBody(TypedDict, total=False):
    user: str
    error_code: int
    error_message: str | None

class AlterUserScramCredentialsResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    results: list[AlterUserScramCredentialsResult] = ...

class AlterUserScramCredentialsResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    results: Sequence[AlterUserScramCredentialsResultBody]
