"""One connection to one node: frames out, frames in, in order. What breaks it is a LinkLost; the caller comes again.

A request may be sent before the answer to the one before has been read (`send`, then `receive`), which is how produced
batches travel while the next ones are made.
"""

from __future__ import annotations

import select
import socket
import ssl
from collections.abc import Mapping
from struct import Struct
from typing import Any

from barnabas.model.errors import ErrorCode
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.sink import login
from barnabas.wire.apis import API_VERSIONS, SERVED
from barnabas.wire.codec import decode_response, encode_request
from barnabas.wire.errors import ProtocolError
from barnabas.wire.headers import request_header, response_header

SASL_HANDSHAKE, SASL_AUTHENTICATE = 17, 36
CONNECT_TIMEOUT_S = 5.0
ANSWER_MAX_BYTES = 256 * 1024 * 1024  # what we ask for answers with far less; a larger length is not Kafka's
CLIENT_ID = "barnabas-spark"
_LENGTH = Struct(">i")


class LinkLost(Exception):
    """The connection cannot be made or broke; in a few words, why."""


class Link:
    def __init__(self, host: str, port: int, security: Mapping[str, str], timeout_s: float) -> None:
        self._number = 0
        self._security = security
        try:
            plain = socket.create_connection((host, port), timeout=min(CONNECT_TIMEOUT_S, timeout_s))
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            plain.settimeout(timeout_s)
            self._socket = login.wrapped(plain, host, security)
        except ssl.SSLError as error:
            raise LinkLost(f"{host}:{port}: TLS failed: {error.reason or error}") from None
        except OSError as error:
            raise LinkLost(f"{host}:{port}: {(error.strerror or str(error)).lower()}") from None
        self._where = f"{host}:{port}"
        try:
            self._versions = self._ask_versions()
            self._log_in()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._socket.close()

    def _ask_versions(self) -> dict[int, tuple[int, int]]:
        answer = self.receive(self.send(API_VERSIONS, {}, version=0))
        return {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}

    def _log_in(self) -> None:
        name = login.mechanism(self._security)
        if name is None:
            return
        answer = self.receive(self.send(SASL_HANDSHAKE, {"mechanism": name}, version=1))
        if answer.error_code:
            known = ", ".join(answer.mechanisms)
            raise PipelineError(f"{self._where} does not know the login {name}, only {known or 'none'}")

        def exchange(message: bytes) -> bytes:
            told = self.receive(self.send(SASL_AUTHENTICATE, {"auth_bytes": message}, version=1))
            if told.error_code:
                raise PipelineError(
                    f"the login at {self._where} failed: {told.error_message or 'wrong user or password'}"
                )
            return bytes(told.auth_bytes)

        login.log_in(name, self._security, exchange)

    # --- requests ---------------------------------------------------------------------------------------------------

    def version(self, api_key: int, newest: int) -> int:
        """The newest version that both sides know, `newest` at most; -1 for none."""
        low, high = self._versions.get(api_key, (0, -1))
        known = min(high, newest)
        return known if known >= max(low, SERVED[api_key].min_version) else -1

    def ask(self, api_key: int, body: Mapping[str, Any], newest: int) -> Any:
        return self.receive(self.send(api_key, body, version=self._must(api_key, newest)))

    def _must(self, api_key: int, newest: int) -> int:
        version = self.version(api_key, newest)
        if version < 0:
            name = SERVED[api_key].name.title().replace("_", "")
            raise PipelineError(f"the node at {self._where} does not know {name}: it is too old for this sink")
        return version

    def send(self, api_key: int, body: Mapping[str, Any], *, version: int) -> tuple[int, int, int]:
        self._number += 1
        request = encode_request(api_key, version, body)
        header = request_header(api_key, version, self._number, CLIENT_ID)
        try:
            self._socket.sendall(_LENGTH.pack(len(header) + len(request)) + header)
            self._socket.sendall(request)
        except OSError as error:
            raise LinkLost(f"{self._where}: {_reason(error)}") from None
        return api_key, version, self._number

    def readable(self) -> bool:
        """Part of an answer is here, so that `receive` waits for its rest only."""
        if isinstance(self._socket, ssl.SSLSocket) and self._socket.pending():
            return True
        return bool(select.select([self._socket], [], [], 0)[0])

    def receive(self, ticket: tuple[int, int, int]) -> Any:
        api_key, version, number = ticket
        try:
            (length,) = _LENGTH.unpack(self._exactly(4))
            if not 4 <= length <= ANSWER_MAX_BYTES:
                raise PipelineError(f"what answers at {self._where} does not speak Kafka's protocol")
            data = self._exactly(length)
            if _LENGTH.unpack_from(data)[0] != number:
                raise LinkLost(f"{self._where}: answers are out of order")
            return decode_response(api_key, version, data, len(response_header(api_key, version, number)))
        except OSError as error:
            raise LinkLost(f"{self._where}: {_reason(error)}") from None
        except ProtocolError as error:
            raise PipelineError(f"what answers at {self._where} does not speak Kafka's protocol: {error}") from None

    def _exactly(self, wanted: int) -> bytes:
        data = bytearray(wanted)
        view, got = memoryview(data), 0
        while got < wanted:
            part = self._socket.recv_into(view[got:])
            if not part:
                raise LinkLost(f"{self._where}: closed")
            got += part
        return bytes(data)


def _reason(error: OSError) -> str:
    return "no answer in time" if isinstance(error, TimeoutError) else (error.strerror or str(error)).lower()


def named(code: int) -> str:
    """`not leader or follower` for 6."""
    try:
        return ErrorCode(code).name.lower().replace("_", " ")
    except ValueError:
        return f"error {code}"
