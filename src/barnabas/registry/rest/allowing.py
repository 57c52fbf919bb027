"""The subject that a request names, behind its alias, if the user may do this to it."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.registry.access.rights import forbidden
from barnabas.registry.errors import RegistryError
from barnabas.registry.rest.request import Request, subject_named
from barnabas.registry.rest.service import Service
from barnabas.registry.state import names, questions
from barnabas.registry.state.values import Reference, Stored

READ = ("read", "write")  # a producer looks its schema up too
WRITE = ("write",)
DELETE = ("delete",)
SEE_SETTINGS = ("describe",)  # which READ and WRITE imply
CHANGE_SETTINGS = ("alter-configs",)


def allowed(service: Service, request: Request, text: str, operations: Sequence[str], *, to_write: bool = False) -> str:
    subject = service.real_subject(subject_named(text, to_write=to_write))
    check(request, subject, operations)
    return subject


def check(request: Request, subject: str | None, operations: Sequence[str]) -> None:
    """`subject` None: all of them. A context (`:.context:`) is asked of the cluster, too."""
    whole = subject is None or not names.split(subject)[1]
    if not request.caller.may(None if whole else subject, *operations):
        raise forbidden(request.caller, None if whole else subject, *operations)


def check_references(request: Request, subject: str, references: Sequence[Reference] | None) -> None:
    """What a schema refers to is part of it: whoever may not read that could read it so."""
    for each in references or ():
        check(request, names.in_context_of(subject, each.subject), READ)


def seen_by_id(service: Service, request: Request, stored: Stored) -> Stored:
    """Of those with the same id one that the user may see. One is enough, its data may be in that topic; the names of
    the others are not told."""
    if may_see(request, stored.subject):
        return stored
    for each in questions.same_id(service.contents, stored, "all"):
        if may_see(request, each.subject):
            return each
    raise RegistryError(40301, f"{request.caller.principal} needs READ or WRITE of a topic that has this schema")


def may_see(request: Request, subject: str) -> bool:
    return request.caller.may(subject, *READ)
