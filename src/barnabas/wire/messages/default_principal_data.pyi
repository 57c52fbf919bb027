"""The types of wire/schema/default_principal_data.json, made by tools/message_types.py."""

from typing import TypedDict

from msgspec import Struct

class DefaultPrincipalData(Struct, kw_only=True):
    type: str = ...
    name: str = ...
    token_authenticated: bool = ...

class DefaultPrincipalDataBody(TypedDict, total=False):
    type: str
    name: str
    token_authenticated: bool
