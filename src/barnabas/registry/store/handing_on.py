"""A request goes on to the instance that writes, as it came, with a header that says so: never twice."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from typing import Protocol
from urllib.parse import SplitResult, urlsplit

from barnabas.model.limits import REGISTRY_BODY_MAX_BYTES, REGISTRY_HEAD_MAX_BYTES

HANDED_ON_HEADER = b"x-barnabas-handed-on"
_PASSED = (b"authorization", b"content-type", b"accept")
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_CONNECT_S = 2.0
_ANSWER_S = 2.0  # then it is asked whether it is still there
_WHOLE_S = 20.0


class NobodyAnswers(Exception):
    """The address in one line, and why."""


class Handed(Protocol):
    method: str
    target: bytes
    headers: dict[bytes, bytes]
    body: bytes


class Peers:
    """TLS to other instances: `ca` is whom their certificates are signed by, where not by one that everybody knows."""

    def __init__(self, ca: str | None = None) -> None:
        self._ca = ca
        self._made: ssl.SSLContext | None = None

    def tls(self) -> ssl.SSLContext:
        if self._made is None:
            self._made = ssl.create_default_context(cafile=self._ca)
        return self._made


async def hand_on(peers: Peers, address: str, request: Handed) -> tuple[int, dict[bytes, bytes], bytes]:
    """Status, headers and body of its answer."""
    passed = {name: request.headers[name] for name in _PASSED if name in request.headers}
    asked = asyncio.get_running_loop().create_task(
        _ask(peers, address, request.method, request.target, passed, request.body)
    )
    try:
        async with asyncio.timeout(_WHOLE_S):
            while True:
                done, _ = await asyncio.wait([asked], timeout=_ANSWER_S)
                if done:
                    return asked.result()
                await _check_there(peers, address)
    except TimeoutError:
        raise NobodyAnswers(f"{address}: no answer in {_WHOLE_S:.0f} s") from None
    finally:
        asked.cancel()


async def _check_there(peers: Peers, address: str) -> None:
    """A change may take its time; a process that is paused or unreachable answers nothing at all."""
    try:
        async with asyncio.timeout(_ANSWER_S):
            await _ask(peers, address, "GET", b"/", {}, b"")
    except TimeoutError:
        raise NobodyAnswers(f"{address}: no answer") from None


async def _ask(
    peers: Peers, address: str, method: str, target: bytes, headers: Mapping[bytes, bytes], body: bytes
) -> tuple[int, dict[bytes, bytes], bytes]:
    parts, host, port = _place(address)
    if b"authorization" in headers and parts.scheme == "http" and host not in _LOOPBACK:
        raise NobodyAnswers(f"{address}: a login is not sent over plain HTTP; start that instance with --certificate")
    tls = peers.tls() if parts.scheme == "https" else None
    try:
        async with asyncio.timeout(_CONNECT_S):
            reader, writer = await asyncio.open_connection(host, port, ssl=tls, limit=REGISTRY_HEAD_MAX_BYTES)
    except (OSError, TimeoutError) as problem:  # ssl.SSLError is an OSError
        raise NobodyAnswers(f"{address}: {str(problem) or 'no connection in time'}") from None
    try:
        head = [
            f"{method} ".encode() + target + b" HTTP/1.1",
            b"host: " + (parts.netloc or host).encode(),
            b"connection: close",
            HANDED_ON_HEADER + b": 1",
            b"content-length: " + str(len(body)).encode(),
            *(name + b": " + value for name, value in headers.items()),
        ]
        writer.write(b"\r\n".join(head) + b"\r\n\r\n" + body)
        return await _answer(reader)
    except (OSError, EOFError, ValueError, asyncio.LimitOverrunError) as problem:
        raise NobodyAnswers(f"{address}: {problem or 'the connection was closed'}") from None
    finally:
        writer.close()


def _place(address: str) -> tuple[SplitResult, str, int]:
    """The address comes from the topic, so it may be anything."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        raise NobodyAnswers(f"{address[:200]!r} is no address") from None
    if parts.scheme not in ("http", "https") or not host:
        raise NobodyAnswers(f"{address[:200]!r} is no address")
    return parts, host, port


async def _answer(reader: asyncio.StreamReader) -> tuple[int, dict[bytes, bytes], bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
    status = int(head[0].split(b" ", 2)[1])
    headers = dict(_headers(head[1:]))
    size = int(headers.get(b"content-length", b"0"))
    if not 0 <= size <= 2 * REGISTRY_BODY_MAX_BYTES:
        raise ValueError(f"an answer of {size} bytes")
    return status, headers, await reader.readexactly(size)


def _headers(lines: Sequence[bytes]) -> list[tuple[bytes, bytes]]:
    return [
        (name.strip().lower(), value.strip())
        for name, colon, value in (each.partition(b":") for each in lines)
        if colon
    ]
