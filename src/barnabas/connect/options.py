"""Options of a connector, as a typed structure.

    class Options(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
        url: str
        password: Secret = ""
        batch: int = 1000

    options = read_options("opensearch", Options, given)

A misspelt name, a wrong type or a missing one is a BadOption that names it. Secrets are never printed: a test asks of
every option that is marked as one that definition/shown.py hides it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Annotated, TypeVar

import msgspec

from barnabas.connect.errors import BadOption

Secret = Annotated[str, msgspec.Meta(extra={"secret": True})]
Kind = TypeVar("Kind", bound=msgspec.Struct)

_UNKNOWN = re.compile(r"unknown field `([^`]*)`")
_MISSING = re.compile(r"missing required field `([^`]*)`")
_AT = re.compile(r" - at `\$\.?(.*)`$")
HIDDEN = "[hidden]"


def read_options(connector: str, kind: type[Kind], given: Mapping[str, object]) -> Kind:
    try:
        return msgspec.convert(dict(given), kind, strict=False)
    except msgspec.ValidationError as problem:
        raise BadOption(_in_words(connector, kind, str(problem))) from None


def _in_words(connector: str, kind: type[msgspec.Struct], problem: str) -> str:
    names = kind.__struct_encode_fields__
    where = _AT.search(problem)
    if unknown := _UNKNOWN.search(problem):
        near = difflib.get_close_matches(unknown[1], names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"it has: {', '.join(names)}"
        return f"{connector} has no option {unknown[1]!r}; {hint}"
    if missing := _MISSING.search(problem):
        return f"{connector} needs the option {missing[1]!r}"
    if where:
        return f"option {where[1]!r} of {connector}: {problem[: where.start()].lower()}"
    return f"{connector}: {problem[:1].lower()}{problem[1:]}"


_PASSWORD_IN_URL = re.compile(r"(://[^:/@\s]*):[^@/\s]*@")


def without_password(url: str) -> str:
    """A URL as it may be shown."""
    return _PASSWORD_IN_URL.sub(rf"\1:{HIDDEN}@", url)
