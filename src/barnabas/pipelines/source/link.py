"""One connection to a node, for an executor that only reads: a request goes out, an answer lands in our buffer.

The answer stays where it was received. The next request may already be on its way while the last answer is worked on:
`send` and `receive` are two calls. Whatever the network does wrong is a LinkDown, and the caller goes on elsewhere.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from struct import Struct
from typing import Any

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.sink import login
from barnabas.wire.codec import decode_response, encode_request
from barnabas.wire.errors import ProtocolError
from barnabas.wire.headers import request_header, response_header

CONNECT_TIMEOUT_S = 5.0
ANSWER_TIMEOUT_S = 30.0
ANSWER_MAX_BYTES = 1 << 30  # a batch is at most as large as a topic's max.message.bytes; nothing sane comes near
SASL_HANDSHAKE, SASL_AUTHENTICATE = 17, 36
CLIENT_ID = "barnabas-spark"
_LENGTH = Struct(">i")


class LinkDown(Exception):
    """The connection is of no more use."""


class Link:
    def __init__(self, host: str, port: int, security: Mapping[str, str]) -> None:
        self.address = f"{host}:{port}"
        self._number = 0
        self._waiting: tuple[int, int] | None = None
        self._room = bytearray(1 << 20)
        try:
            plain = socket.create_connection((host, port), timeout=CONNECT_TIMEOUT_S)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            plain.settimeout(ANSWER_TIMEOUT_S)
            self._socket = login.wrapped(plain, host, security)
        except OSError as error:
            raise LinkDown(f"{self.address}: {error.strerror or error}") from None
        try:
            self._log_in(security)
        except BaseException:
            self.close()
            raise

    def _log_in(self, security: Mapping[str, str]) -> None:
        name = login.mechanism(security)
        if name is None:
            return
        answer = self.call(SASL_HANDSHAKE, 1, {"mechanism": name})
        if answer.error_code:
            raise PipelineError(f"{self.address} does not know the login {name}")

        def exchange(message: bytes) -> bytes:
            told = self.call(SASL_AUTHENTICATE, 1, {"auth_bytes": message})
            if told.error_code:
                raise PipelineError(f"the login at {self.address} failed: {told.error_message or 'wrong password'}")
            return bytes(told.auth_bytes)

        login.log_in(name, security, exchange)

    def close(self) -> None:
        self._socket.close()

    def call(self, api_key: int, version: int, body: Mapping[str, Any]) -> Any:
        self.send(api_key, version, body)
        return self.receive()

    def send(self, api_key: int, version: int, body: Mapping[str, Any]) -> None:
        self._number += 1
        request = request_header(api_key, version, self._number, CLIENT_ID) + encode_request(api_key, version, body)
        try:
            self._socket.sendall(_LENGTH.pack(len(request)) + request)
        except OSError as error:
            raise LinkDown(f"{self.address}: {error.strerror or error}") from None
        self._waiting = api_key, version

    def receive(self) -> Any:
        """The answer to what was sent; its records are slices of a buffer that the next `receive` may write over."""
        assert self._waiting is not None
        api_key, version = self._waiting
        self._waiting = None
        (length,) = _LENGTH.unpack(self._read(4))
        if not 4 <= length <= ANSWER_MAX_BYTES:
            raise LinkDown(f"{self.address}: an answer of {length} bytes is not Kafka's")
        answer = self._read(length)
        try:
            return decode_response(api_key, version, answer, len(response_header(api_key, version, 0)))
        except ProtocolError as error:
            raise LinkDown(f"{self.address}: {error}") from None

    def _read(self, wanted: int) -> memoryview:
        if wanted > len(self._room):
            self._room = bytearray(wanted + (wanted >> 2))
        view = memoryview(self._room)[:wanted]
        got = 0
        try:
            while got < wanted:
                count = self._socket.recv_into(view[got:])
                if count == 0:
                    raise LinkDown(f"{self.address}: the connection was closed")
                got += count
        except TimeoutError:
            raise LinkDown(f"{self.address}: no answer") from None
        except OSError as error:
            raise LinkDown(f"{self.address}: {error.strerror or error}") from None
        return view
