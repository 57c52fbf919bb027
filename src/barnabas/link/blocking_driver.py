"""The driver for threads: an Exchange on a blocking socket, with a deadline for every answer.

    link = BlockingLink(host, port, LinkOptions(client_id="me"))
    answer = link.ask(METADATA, {"topics": None})            # in the newest version that both sides know
    link.send(FETCH, 12, body); ...; answer = link.receive()  # the next request may be on its way meanwhile

The constructor gives a connection on which everything was said that comes first: TLS, versions, login. Whatever ends it
is a LinkDown (errors.py); a login that is refused is LoginFailed. Where a login does not count for ever, the next one
precedes a request while no other is in flight. One thread at a time.
"""

import base64
import math
import os
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from barnabas.link.errors import LinkDown, LoginFailed, NotKafka, Silent, Unreachable
from barnabas.link.exchange import Exchange, Memory, Request, own_memory
from barnabas.link.opening import Conversation, ask_versions, log_in, log_in_again_after_ms
from barnabas.link.sasl import Credentials
from barnabas.link.versions import NodeVersions
from barnabas.model.limits import PEER_ANSWER_MAX_BYTES
from barnabas.model.readiness import readable
from barnabas.wire.codec import Decoded, decode_response, encode_request
from barnabas.wire.errors import ProtocolError

_ONE_SEND_BYTES = 64 * 1024  # a larger body is not copied behind its header

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class LinkOptions:
    client_id: str
    connect_timeout_s: float = 5.0
    answer_timeout_s: float = 30.0  # Kafka's request.timeout.ms: until the last byte of an answer is here
    opening_timeout_s: float | None = None  # for each answer before the first request; None: as for any other
    answer_max_bytes: int = PEER_ANSWER_MAX_BYTES
    tls: ssl.SSLContext | None = None
    credentials: Credentials | None = None
    ask_versions: bool = True  # False: only fixed versions are used, by `send` and `call`


class BlockingLink:
    def __init__(self, host: str, port: int, options: LinkOptions, memory: Memory = own_memory) -> None:
        self.address = (host, port)
        self.where = f"{host}:{port}"
        self._exchange: Exchange[None] = Exchange(options.client_id, options.answer_max_bytes, memory)
        self._answer_timeout_s = options.opening_timeout_s or options.answer_timeout_s
        self._credentials = options.credentials
        self._log_in_at = math.inf  # again (KIP-368)
        self._socket = self._connect(options)
        self._versions: NodeVersions | None = None
        try:
            if options.ask_versions:
                self._versions = self._converse(ask_versions())
            self._log_in()
        except BaseException:
            self.close()
            raise
        self._answer_timeout_s = options.answer_timeout_s

    def _log_in(self) -> None:
        self._log_in_at = math.inf
        if self._credentials is not None:
            lifetime_ms = self._converse(log_in(self._credentials, base64.b64encode(os.urandom(18)).decode()))
            if lifetime_ms:
                self._log_in_at = time.monotonic() + log_in_again_after_ms(lifetime_ms) / 1000

    def _connect(self, options: LinkOptions) -> socket.socket:
        host, port = self.address
        try:
            plain = socket.create_connection((host, port), timeout=options.connect_timeout_s)
        except TimeoutError:
            raise Unreachable("no answer: a firewall may drop the packets", self.where) from None
        except socket.gaierror:
            raise Unreachable("the name does not resolve", self.where) from None
        except OSError as error:
            raise Unreachable(_reason(error), self.where) from None
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if options.tls is None:
                return plain
            plain.settimeout(self._answer_timeout_s)
            return options.tls.wrap_socket(plain, server_hostname=host)
        except OSError as error:
            plain.close()
            failed = f"TLS failed: {error.reason or error}" if isinstance(error, ssl.SSLError) else _reason(error)
            raise Unreachable(failed, self.where) from None

    def _converse(self, conversation: Conversation[Result]) -> Result:
        try:
            step = next(conversation)
            while True:
                step = conversation.send(self.call(*step))
        except StopIteration as end:
            result: Result = end.value
            return result
        except LoginFailed as refused:
            raise LoginFailed(f"{self.where}: {refused}") from None

    def close(self) -> None:
        self._socket.close()

    # --- requests ---------------------------------------------------------------------------------------------------

    @property
    def versions(self) -> NodeVersions:
        assert self._versions is not None, "LinkOptions.ask_versions is off"
        return self._versions

    def ask(
        self, api_key: int, body: Mapping[str, object], newest: int | None = None, timeout_s: float | None = None
    ) -> Decoded:
        """In the newest version that both sides know, `newest` at most; UnknownApi where there is none. What
        the answer is depends on the API key; whoever asks declares it (wire/messages)."""
        return self.call(api_key, self.versions.must(api_key, newest), body, timeout_s)

    def call(self, api_key: int, version: int, body: Mapping[str, object], timeout_s: float | None = None) -> Decoded:
        self.send(api_key, version, body)
        return self.receive(timeout_s)

    def send(self, api_key: int, version: int, body: Mapping[str, object]) -> None:
        if self._log_in_at < time.monotonic() and not self._exchange.in_flight:
            self._log_in()
        payload = encode_request(api_key, version, body)
        head = self._exchange.request(api_key, version, len(payload), None)
        try:
            self._socket.settimeout(self._answer_timeout_s)
            if len(payload) <= _ONE_SEND_BYTES:
                self._socket.sendall(head + payload)
            else:
                self._socket.sendall(head)
                self._socket.sendall(payload)
        except TimeoutError:
            raise Silent("it does not take requests", self.where) from None
        except OSError as error:
            raise LinkDown(_reason(error), self.where) from None

    def readable(self) -> bool:
        """Part of an answer is here, so that `receive` waits for its rest only."""
        if self._exchange.has_received or (isinstance(self._socket, ssl.SSLSocket) and self._socket.pending()):
            return True
        return readable(self._socket)

    def receive(self, timeout_s: float | None = None) -> Decoded:
        """The answer to the oldest request in flight, decoded. With ReusedMemory its records are there until the next
        `receive`."""
        assert self._exchange.in_flight, "nothing was asked"
        try:
            request, body = self._next_answer(self._answer_timeout_s if timeout_s is None else timeout_s)
            return decode_response(request.api_key, request.version, body)
        except NotKafka as problem:
            raise NotKafka(problem.reason, self.where) from None
        except ProtocolError as error:
            raise NotKafka(f"an answer that cannot be read: {error}", self.where) from None

    def _next_answer(self, timeout_s: float) -> tuple[Request[None], memoryview]:
        exchange, deadline = self._exchange, time.monotonic() + timeout_s
        while (found := exchange.next_answer()) is None:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise Silent("no answer in time", self.where)
            try:
                self._socket.settimeout(left_s)
                count = self._socket.recv_into(exchange.room())
            except TimeoutError:
                raise Silent("no answer in time", self.where) from None
            except OSError as error:
                raise LinkDown(_reason(error), self.where) from None
            if not count:
                raise LinkDown("the connection was closed", self.where)
            exchange.received(count)
        return found


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
