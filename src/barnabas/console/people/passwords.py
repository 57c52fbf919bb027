"""Passwords of people whom only the console knows: kept as scrypt's hash, compared in constant time."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os

_COST, _BLOCK, _PARALLEL = 2**14, 8, 1  # 16 MiB and about 50 ms a try
_KIND = "scrypt"


def hashed(password: str) -> str:
    salt = os.urandom(16)
    return ":".join((_KIND, _text(salt), _text(_derived(password, salt))))


def looks_hashed(kept: str) -> bool:
    kind, *rest = kept.split(":")
    return kind == _KIND and len(rest) == 2


def is_right(password: str, kept: str) -> bool:
    """Takes as long for a hash that cannot be read as for a wrong password."""
    try:
        kind, salt, wanted = kept.split(":")
        parts = base64.b64decode(salt, validate=True), base64.b64decode(wanted, validate=True)
    except ValueError:
        kind, parts = "", (bytes(16), bytes(32))
    return hmac.compare_digest(_derived(password, parts[0]), parts[1]) and kind == _KIND


def _derived(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=_COST, r=_BLOCK, p=_PARALLEL, dklen=32)


def _text(value: bytes) -> str:
    return base64.b64encode(value).decode()
