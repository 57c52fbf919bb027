"""Passwords of SCRAM users on their way to a cluster: hashed here, with a salt each, and never sent."""

from __future__ import annotations

from barnabas.core.access.sasl.scram import BY_NUMBER, SALT_BYTES, SCRAM, upsertion
from barnabas.operate.unusable import Unusable

__all__ = ["SALT_BYTES", "check_name", "check_password", "deletions", "mechanism_name", "upsertions"]

_FORBIDDEN = '"\\\n'  # client.properties could not have them


def check_name(user: str) -> None:
    if not user or any(character in user for character in _FORBIDDEN):
        raise Unusable(f"a user's name cannot have quotes, backslashes or line ends: {user!r}", "Choose another name.")


def check_password(secret: str) -> None:
    if not secret or any(character in secret for character in _FORBIDDEN):
        raise Unusable("a password is one line, not empty, without quotes and backslashes", "Choose another one.")


def upsertions(user: str, password: str, salts: tuple[bytes, bytes]) -> list[dict[str, object]]:
    """For every mechanism; AlterUserScramCredentials takes them. It hashes for some 20 ms."""
    return [upsertion(user, password, mechanism, salt) for mechanism, salt in zip(SCRAM.values(), salts, strict=True)]


def deletions(user: str, mechanisms: list[str]) -> list[dict[str, object]]:
    return [{"name": user, "mechanism": SCRAM[name].number} for name in mechanisms if name in SCRAM]


def mechanism_name(number: int) -> str | None:
    found = BY_NUMBER.get(number)
    return None if found is None else found.name
