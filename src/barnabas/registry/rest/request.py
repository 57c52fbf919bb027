"""A request taken apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import parse_qsl, unquote

import msgspec

from barnabas.model.limits import REGISTRY_LISTED_MAX
from barnabas.registry.access.rights import ANYBODY, Anybody, Caller
from barnabas.registry.errors import RegistryError, invalid_subject, invalid_version
from barnabas.registry.state import names
from barnabas.registry.state.questions import LATEST, Which
from barnabas.registry.state.values import NUMBER_MAX

Body = TypeVar("Body")

_NAME_MAX = 1_000  # characters of a subject
_QUERY_MAX = 100  # parameters
_EMPTY = RegistryError(422, "The request body is empty")


@dataclass(slots=True)
class Request:
    method: str
    target: bytes  # path and query as they were sent
    segments: tuple[str, ...]
    query: dict[str, list[str]]
    headers: dict[bytes, bytes]
    body: bytes = b""
    caller: Caller | Anybody = ANYBODY
    handed_on: bool = False

    def flag(self, *called: str) -> bool:
        """By several names: clients in Python say deleted_only where Java's say deletedOnly."""
        return any(self.query.get(name, [""])[-1].lower() == "true" for name in called)

    def text(self, name: str, default: str = "") -> str:
        return self.query.get(name, [default])[-1]

    def number(self, name: str, default: int) -> int:
        told = self.text(name)
        if not told:
            return default
        try:
            return int(told)
        except ValueError:
            raise RegistryError(404, "HTTP 404 Not Found") from None  # what JAX-RS says to such a parameter

    def page(self, most: int = REGISTRY_LISTED_MAX) -> slice:
        """`offset` and `limit`."""
        first = min(max(0, self.number("offset", 0)), NUMBER_MAX)
        limit = self.number("limit", -1)
        return slice(first, first + (limit if 0 < limit <= most else most))

    @property
    def which(self) -> Which:
        return "deleted" if self.flag("deletedOnly", "deleted_only") else "all" if self.flag("deleted") else "live"

    def json(self, kind: type[Body]) -> Body:
        if not self.body.strip() or self.body.strip() == b"null":
            raise _EMPTY
        try:
            return msgspec.json.decode(self.body, type=kind)
        except msgspec.ValidationError as problem:
            raise RegistryError(400, f"The request body cannot be used: {problem}") from None
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as problem:
            raise RegistryError(400, f"The request body is not JSON: {problem}") from None


def segments_of(raw_path: bytes) -> tuple[str, ...]:
    """Of `/subjects/a%2Fb/versions` the second one is `a/b`."""
    parts = raw_path.decode("latin-1").split("/")
    return tuple(unquote(each, errors="replace") for each in parts if each)


def query_of(raw: bytes) -> dict[str, list[str]]:
    if not raw:
        return {}
    found: dict[str, list[str]] = {}
    try:
        pairs = parse_qsl(raw.decode("latin-1"), keep_blank_values=True, max_num_fields=_QUERY_MAX)
    except ValueError:
        raise RegistryError(400, f"more than {_QUERY_MAX} parameters") from None
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


def subject_named(text: str, *, to_write: bool = False) -> str:
    if len(text) > _NAME_MAX or (to_write and not names.is_valid(text)):
        raise invalid_subject(text[:_NAME_MAX])
    return names.normal(text)


def scope_named(text: str) -> str | None:
    """Of a level or a mode: a subject, a context, or None for everything."""
    if len(text) > _NAME_MAX or any(ord(each) < 0x20 or 0x7F <= ord(each) < 0xA0 for each in text):
        raise invalid_subject(text[:_NAME_MAX])
    context, name = names.split(text)
    return names.qualified(context, name) or None


def version_named(text: str) -> int:
    if text.strip().lower() in ("latest", "-1"):
        return LATEST
    try:
        found = int(text)
    except ValueError:
        raise invalid_version(text[:100]) from None
    if not 0 < found <= NUMBER_MAX:
        raise invalid_version(text[:100])
    return found


def id_named(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise RegistryError(404, "HTTP 404 Not Found") from None
