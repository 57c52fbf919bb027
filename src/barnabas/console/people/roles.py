"""What a person may do in the console, on top of what the cluster allows them."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from barnabas.console.options import Role
from barnabas.console.problems import NotAllowed

EVERYTHING = Role()
READ_ONLY = Role(name="read-only", read_only=True)


def role_of(user: str, roles: Iterable[Role], read_only: bool) -> Role:
    """The first role that has the user; `read_only` is for the console as a whole."""
    found = next((role for role in roles if any(fnmatchcase(user, each) for each in role.users)), None)
    if found is None:
        return READ_ONLY if read_only else EVERYTHING
    if read_only and not found.read_only:
        return Role(found.name, found.users, found.data, True, found.topics, found.mask)
    return found


def may_change(role: Role) -> None:
    if role.read_only:
        raise NotAllowed("this console is read-only for you", f"Your role is {role.name!r}.")


def may_see_records(role: Role, topic: str | None = None) -> None:
    if not role.data:
        raise NotAllowed("you may see topics, but not their records", f"Your role is {role.name!r}.")
    if topic is not None and not any(fnmatchcase(topic, each) for each in role.topics):
        raise NotAllowed(f"you may not see the records of {topic}", f"Your role is {role.name!r}.")


def sees_every_record(role: Role) -> bool:
    """Whole, and of every topic: for what may quote any of them, such as the output of a pipeline."""
    return role.data and not role.mask and "*" in role.topics
