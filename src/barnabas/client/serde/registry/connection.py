"""HTTP to a registry, blocking: one kept connection for each thread, addresses tried in turn, answers bounded.

An address that refuses, does not answer in time or says that it cannot (HTTP 502, 503, 504) is passed over; the next
request begins with the one that answered last. A kept connection that the server has closed meanwhile is opened again,
once. Every request of the API may be sent twice: registering is idempotent.
"""

from __future__ import annotations

import http.client
import os
import socket
import ssl
import threading
from collections.abc import Mapping
from urllib.parse import urlencode

import msgspec

from barnabas.client.errors import BarnabasError, CannotReach, NotAllowed, RegistryError
from barnabas.client.serde.registry.reasons import refusal
from barnabas.client.serde.registry.settings import Address, RegistrySettings
from barnabas.model.limits import REGISTRY_ANSWER_MAX_BYTES, REGISTRY_REASON_MAX_CHARS

JSON = "application/vnd.schemaregistry.v1+json"
_UNAVAILABLE = (502, 503, 504)
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")  # by the release of OpenSSL
_WAY_OUT = "Is a registry up? Try: barnabas up --registry"
_LOG_IN = "Give it a user that it knows: http://USER:PASSWORD@HOST:PORT, or basic.auth.user.info in the client profile"

Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


class _Unavailable(Exception):
    """This address does not serve now; another one may."""


class _Connections(dict[int, http.client.HTTPConnection]):
    """Those of one thread, by address. They are closed with the thread, or with a registry that nobody has."""

    def __del__(self) -> None:
        for each in self.values():
            each.close()


class Http:
    def __init__(self, settings: RegistrySettings) -> None:
        self.settings = settings
        self._kept = threading.local()
        self._first = 0  # the address that answered last

    def request(
        self, method: str, path: str, doing: str, body: object = None, query: Mapping[str, object] | None = None
    ) -> Json:
        """What the registry answers. `doing` opens the line of an error. RegistryError for a refusal, NotAllowed for a
        missing right, CannotReach when nobody answers."""
        asked = {
            name: str(value).lower() if isinstance(value, bool) else value
            for name, value in (query or {}).items()
            if value is not None and value is not False
        }
        target = f"{path}?{urlencode(asked)}" if asked else path
        payload = None if body is None else _encode(body)
        reason = ""
        addresses = self.settings.addresses
        for turn in range(len(addresses)):
            number = (self._first + turn) % len(addresses)
            try:
                status, data = self._ask(number, method, target, payload)
            except _Unavailable as error:
                reason = str(error)
                continue
            self._first = number
            return _answer(status, data, doing)
        raise CannotReach(f"the registry {self.settings}", f"{reason}. {_WAY_OUT}")

    def close(self) -> None:
        """The connection of this thread."""
        held: dict[int, http.client.HTTPConnection] = getattr(self._kept, "connections", {})
        for each in held.values():
            each.close()
        held.clear()

    def _ask(self, number: int, method: str, target: str, payload: bytes | None) -> tuple[int, bytes]:
        address = self.settings.addresses[number]
        for fresh in (False, True):
            connection = self._connection(number, fresh)
            was_used = connection.sock is not None
            try:
                return self._once(connection, address, method, target, payload)
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError) as error:
                connection.close()
                if not was_used:
                    raise _Unavailable(_reason(error)) from None
            except (OSError, http.client.HTTPException, ValueError) as error:
                connection.close()
                raise _Unavailable(_reason(error)) from None
            except BaseException:  # Ctrl-C: the answer that is still to come is not that of the next request
                connection.close()
                raise
        raise _Unavailable("the connection was closed twice")

    def _once(
        self, connection: http.client.HTTPConnection, address: Address, method: str, target: str, payload: bytes | None
    ) -> tuple[int, bytes]:
        headers = {"Accept": f"{JSON}, application/json", "User-Agent": "barnabas"}
        if payload is not None:
            headers["Content-Type"] = JSON
        if self.settings.authorization is not None:
            headers["Authorization"] = self.settings.authorization
        connection.request(method, address.path + target, payload, headers)
        response = connection.getresponse()
        data = response.read(REGISTRY_ANSWER_MAX_BYTES + 1)
        if len(data) > REGISTRY_ANSWER_MAX_BYTES:
            connection.close()
            raise BarnabasError(f"the registry {address} answers with more than {REGISTRY_ANSWER_MAX_BYTES >> 20} MiB")
        if response.will_close:
            connection.close()
        if response.status in _UNAVAILABLE:
            raise http.client.HTTPException(f"HTTP status {response.status}: {_told(data)[1]}")
        return response.status, data

    def _connection(self, number: int, fresh: bool) -> http.client.HTTPConnection:
        """That of this thread and process: a connection that a fork has copied belongs to the parent."""
        kept = self._kept
        if getattr(kept, "pid", None) != os.getpid():
            kept.pid, kept.connections = os.getpid(), _Connections()
        found: http.client.HTTPConnection | None = kept.connections.get(number)
        if found is None or fresh:
            found = kept.connections[number] = self._opened(self.settings.addresses[number])
        return found

    def _opened(self, address: Address) -> http.client.HTTPConnection:
        if address.secure:
            return http.client.HTTPSConnection(
                address.host, address.port, timeout=self.settings.timeout_s, context=self.settings.tls
            )
        return http.client.HTTPConnection(address.host, address.port, timeout=self.settings.timeout_s)


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, socket.gaierror):
        return "no such host"
    if isinstance(error, ssl.SSLError) and error.reason in _NO_TLS:
        return "what answers there speaks no TLS: write http://"
    if isinstance(error, http.client.RemoteDisconnected):
        return "what listens there closes the connection: it speaks no HTTP, or https:// only"
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error) or type(error).__name__
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def _answer(status: int, data: bytes, doing: str) -> Json:
    if status < 300:
        try:
            found: Json = _decode(data) if data else None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise RegistryError(f"{doing}: what answers is no schema registry: no JSON", status, 0) from None
        return found
    code, reason = _told(data)
    if status in (401, 403):
        if status == 401:
            raise NotAllowed(f"{doing}: the registry refused: {reason or 'wrong user, password or token'}. {_LOG_IN}")
        raise NotAllowed(f"{doing}: the registry refused: {reason or 'this user may not do it'}")
    if status == 409:
        reason = refusal(reason)
    raise RegistryError(f"{doing}: {reason or f'HTTP status {status}'}", status, code)


def _told(data: bytes) -> tuple[int, str]:
    """The registry's code and its text as one bounded line: it may be of a stranger, and goes to a terminal."""
    try:
        found = _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return 0, ""
    if not isinstance(found, dict):
        return 0, ""
    code, message = found.get("error_code"), found.get("message")
    text = " ".join(str(message or "").split())
    text = "".join(letter if letter.isprintable() else "?" for letter in text[:REGISTRY_REASON_MAX_CHARS])
    return code if isinstance(code, int) else 0, text.rstrip(".")
