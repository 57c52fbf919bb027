"""What all requests are to a type checker, made by tools/message_types.py."""

from typing import Generic, TypeVar

from msgspec import Struct

BodyT = TypeVar("BodyT", covariant=True)

class Request(Struct, Generic[BodyT], kw_only=True):
    """A request that is answered with such a body."""
