"""`/contexts/.sales/subjects/orders/versions` is `/subjects/:.sales:orders/versions`: a client whose base address ends
with a context uses it without knowing of contexts."""

from __future__ import annotations

from barnabas.registry.errors import RegistryError
from barnabas.registry.rest.request import Request
from barnabas.registry.state import names

_SCOPES = ("config", "mode")


def without_context(request: Request) -> None:
    """Changes path and query of a request that is under a context."""
    if len(request.segments) < 3 or request.segments[0] != "contexts":
        return
    context = context_named(request.segments[1])
    rest = request.segments[2:]
    prefix = names.context_prefix(context)
    if rest[0] in (*_SCOPES, "subjects") and len(rest) > 1:
        rest = (rest[0], _within(context, rest[1]), *rest[2:])
    elif rest[0] in _SCOPES and prefix:
        rest = (rest[0], prefix)
    elif rest[:2] == ("compatibility", "subjects") and len(rest) > 2:
        rest = (*rest[:2], _within(context, rest[2]), *rest[3:])
    elif rest[0] in ("subjects", "schemas") and len(rest) == 1:
        request.query["subjectPrefix"] = [_within(context, request.text("subjectPrefix"))]
    elif rest[0] == "schemas" and rest[1] == "ids":
        request.query["subject"] = [_within(context, request.text("subject"))]
    request.segments = rest


def context_named(text: str) -> str:
    """`.sales`, `:.sales:` or `sales`."""
    name = text.removeprefix(":").removesuffix(":")
    if ":" in name or not name:
        raise RegistryError(400, "Context name cannot contain a colon")
    return name if name.startswith(".") else f".{name}"


def _within(context: str, subject: str) -> str:
    return subject if subject.startswith(":") else names.context_prefix(context) + subject
