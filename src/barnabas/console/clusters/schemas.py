"""A cluster's schema registry as one person sees it: asked with their own login, in threads, never for long.

A login travels to a registry only by TLS or inside this machine. Records are shown decoded where the registry answers;
where it does not, they are shown as they are, and it is asked again after a few seconds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from barnabas.browse import Record
from barnabas.browse.record import DecodedPart, Part
from barnabas.client.errors import BarnabasError, CannotReach, RegistryError
from barnabas.client.errors import NotAllowed as Refused
from barnabas.client.serde.registry import framing
from barnabas.client.serde.registry.plain import plain_reader
from barnabas.client.serde.registry.registry import Registry
from barnabas.client.serde.registry.settings import RegistrySettings, registry_settings
from barnabas.console.options import LOOPBACK, ClusterOptions
from barnabas.console.people.sessions import Login
from barnabas.console.problems import NotAllowed, NotFound, Problem
from barnabas.link.sasl import OAUTHBEARER, Credentials
from barnabas.model.limits import CONSOLE_DECODED_MAX_BYTES

_TIMEOUT_SECONDS = 5.0  # a person waits
_AWAY_SECONDS = 5.0
_AT_ONCE = 4  # of one person: each is a thread
_NO_REGISTRY = (
    'Start one with: barnabas up --registry, and name it: barnabas console --registry URL, or registry = "URL" in the'
    " cluster's table of the --config file."
)

Answer = TypeVar("Answer")


class Schemas:
    def __init__(self, options: ClusterOptions, login: Login) -> None:
        self.url = options.registry
        self._registry = None if options.registry is None else _registry(options, login.credentials)
        self._reader = None if self._registry is None else plain_reader(self._registry)
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._away_until = 0.0

    async def ask(self, work: Callable[[Registry], Answer]) -> Answer:
        """`work` in a thread; what the registry refuses as a Problem."""
        if self._registry is None:
            raise NotFound("this cluster has no schema registry here", _NO_REGISTRY)
        async with self._turns:
            try:
                return await asyncio.to_thread(work, self._registry)
            except RegistryError as error:
                raise Problem(str(error), status=error.status if 400 <= error.status < 500 else 503) from None
            except Refused as error:
                raise NotAllowed(str(error)) from None
            except BarnabasError as error:
                raise Problem(str(error), status=503) from None

    async def to_json(self, records: Sequence[Record]) -> list[Record]:
        """Records whose keys and values are JSON where they name a schema that the registry has."""
        wanted = self._reader is not None and time.monotonic() > self._away_until
        if not wanted or not any(_named(each, part) for each in records for part in _PARTS):
            return list(records)
        async with self._turns:
            return await asyncio.to_thread(lambda: [self._decoded(each) for each in records])

    def _decoded(self, record: Record) -> Record:
        for part in _PARTS:
            data = _named(record, part)
            if data is None or self._reader is None or time.monotonic() < self._away_until:
                continue
            try:
                text: bytes = self._reader.decode(data, record.topic, part, record.headers)
                key = framing.read(data, record.headers, part).key
            except CannotReach:
                self._away_until = time.monotonic() + _AWAY_SECONDS
                continue
            except Exception:  # data that do not fit raise many kinds: such a record is shown as it is
                continue
            decoded = (*record.decoded, DecodedPart(part, str(key), len(data)))
            if part == "key":
                record = record._replace(key=text, key_bytes=len(text), decoded=decoded)
            else:
                record = record._replace(value=text, value_bytes=len(text), decoded=decoded)
        return record


_PARTS: tuple[Part, ...] = ("key", "value")


def _named(record: Record, part: Part) -> bytes | None:
    """The data, where they are whole, not too large, and look as if they named a schema."""
    data = record.key if part == "key" else record.value
    if data is None or part in record.truncated or len(data) > CONSOLE_DECODED_MAX_BYTES:
        return None
    return data if framing.is_framed(data, record.headers, part) else None


def _registry(options: ClusterOptions, credentials: Credentials | None) -> Registry:
    try:
        settings: dict[str, object] = {"timeout": _TIMEOUT_SECONDS}
        if options.settings.get("ssl.ca.location"):
            settings["ssl.ca.location"] = options.settings["ssl.ca.location"]
        if credentials is not None and _is_private(registry_settings(options.registry, settings)):
            if credentials.mechanism == OAUTHBEARER:
                settings["bearer.auth.token"] = credentials.password
            else:
                settings["basic.auth.user.info"] = f"{credentials.user}:{credentials.password}"
        return Registry(options.registry, **settings)
    except BarnabasError as error:
        raise Problem(f"the registry of cluster {options.name}: {error}", status=500) from None


def _is_private(settings: RegistrySettings) -> bool:
    return all(each.secure or each.host in LOOPBACK for each in settings.addresses)
