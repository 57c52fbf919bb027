"""Who asks: a user and a password (basic), or a token (bearer), which the cluster itself is asked about by logging in.

What was right is remembered for a minute, what was wrong for a moment, under a keyed hash: no password is kept. Few are
tried at once, so that guessing costs those who guess.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass

from barnabas.link.async_nodes import AsyncNodes
from barnabas.link.errors import LinkDown, LoginFailed, UnknownApi
from barnabas.link.sasl import OAUTHBEARER, Credentials
from barnabas.registry.errors import RegistryError, store_failed

_RIGHT_S, _WRONG_S = 60.0, 2.0
_REMEMBERED_MAX = 10_000
_AT_ONCE = 8
_CREDENTIALS_MAX = 16 * 1024  # bytes of the header
_REFUSED = RegistryError(401, "Unauthorized")


@dataclass(frozen=True, slots=True)
class _Known:
    principal: str | None
    until: float


class People:
    """`log_in` gives connections to the cluster that log in with these credentials; `mechanism` is for passwords."""

    def __init__(self, log_in: Callable[[Credentials], AsyncNodes], mechanism: str) -> None:
        self._log_in = log_in
        self._mechanism = mechanism
        self._key = os.urandom(32)
        self._known: dict[bytes, _Known] = {}
        self._trying: dict[bytes, asyncio.Task[_Known]] = {}
        self._room = asyncio.Semaphore(_AT_ONCE)

    async def principal(self, header: bytes) -> str:
        """Of an Authorization header; RegistryError 401 when nobody is meant by it."""
        if not header or len(header) > _CREDENTIALS_MAX:
            raise _REFUSED
        name = hmac.digest(self._key, header, hashlib.sha256)
        found = self._known.get(name)
        if found is None or found.until < time.monotonic():
            task = self._trying.get(name)
            if task is None:
                task = self._trying[name] = asyncio.get_running_loop().create_task(self._try(name, header))
            found = await asyncio.shield(task)
        if found.principal is None:
            raise _REFUSED
        return found.principal

    async def _try(self, name: bytes, header: bytes) -> _Known:
        try:
            async with self._room:
                principal = await self._asked(header)
            found = _Known(principal, time.monotonic() + (_WRONG_S if principal is None else _RIGHT_S))
            while len(self._known) >= _REMEMBERED_MAX:
                del self._known[next(iter(self._known))]
            self._known.pop(name, None)
            self._known[name] = found
            return found
        finally:
            del self._trying[name]

    async def _asked(self, header: bytes) -> str | None:
        kind, _, rest = header.partition(b" ")
        if kind.lower() == b"basic":
            credentials = _basic(rest, self._mechanism)
            principal = None if credentials is None else f"User:{credentials.user}"
        elif kind.lower() == b"bearer":
            user = _subject(rest)
            credentials = None if user is None else Credentials(OAUTHBEARER, "", rest.strip().decode("latin-1"))
            principal = f"User:{user}"
        else:
            return None
        if credentials is None:
            return None
        nodes = self._log_in(credentials)
        try:
            await nodes.node_ids()
            return principal
        except LoginFailed:
            return None
        except (LinkDown, UnknownApi):
            raise store_failed("the cluster, which knows the users, cannot be asked") from None
        finally:
            nodes.close()


def _basic(rest: bytes, mechanism: str) -> Credentials | None:
    try:
        user, colon, password = base64.b64decode(rest.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return Credentials(mechanism, user, password) if colon and user else None


def _subject(token: bytes) -> str | None:
    """Whom a token names. It is read here and verified by the cluster."""
    try:
        payload = token.strip().split(b".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + b"=" * (-len(payload) % 4)))
        found = claims["sub"]
    except (IndexError, KeyError, TypeError, ValueError, RecursionError):
        return None
    return found if isinstance(found, str) and found else None
