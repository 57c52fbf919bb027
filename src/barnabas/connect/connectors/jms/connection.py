"""A connection to a broker by STOMP that one thread uses: nothing happens but in its calls."""

from __future__ import annotations

import collections
import contextlib
import socket
import ssl
import time
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

import msgspec

from barnabas.connect.connectors.jms.frames import BadFrame, Decoder, Frame, encode
from barnabas.connect.errors import BadOption, Unavailable
from barnabas.connect.options import Secret, without_password
from barnabas.model.readiness import readable

ANSWER_S = 30.0
_CONNECT_S = 10.0
_CLOSE_S = 3.0
_BEAT_MS = 30_000
_READ_BYTES = 256 * 1024


class BrokerOptions(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    url: str
    username: str = ""
    password: Secret = ""
    virtual_host: str = ""
    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""
    max_bytes: int = 16 * 1024 * 1024

    def __repr__(self) -> str:  # the one that comes with a Struct has the secrets
        return f"{type(self).__name__}(...)"


class Broker:
    """Where the broker is, and who we are: what options say, read once."""

    def __init__(self, options: BrokerOptions) -> None:
        try:
            parts = urlsplit(options.url)
            port = parts.port
        except ValueError:
            parts, port = urlsplit(""), None
        if parts.scheme not in ("stomp", "stomps") or not parts.hostname:
            shown = without_password(options.url)
            raise BadOption(f"option 'url' of jms: {shown!r}", "Write it as stomp://HOST:61613 or stomps://HOST:61614")
        self.tls = parts.scheme == "stomps"
        self.host, self.port = parts.hostname, port or (61614 if self.tls else 61613)
        self.shown = f"{self.host}:{self.port}"
        self.username = options.username or unquote(parts.username or "")
        self.password = options.password or unquote(parts.password or "")
        self.virtual_host = options.virtual_host or self.host
        self.files = (options.ca_file or None, options.cert_file or None, options.key_file or None)
        self.body_bytes = options.max_bytes
        if any(self.files) and not self.tls:
            raise BadOption("jms: certificates are given, but url begins with stomp://", "Write stomps://")
        if not 1 <= self.body_bytes <= 1024**3:
            raise BadOption(f"option 'max_bytes' of jms: {self.body_bytes} is not between 1 and 1073741824")

    def _tls(self) -> ssl.SSLContext:
        ca, cert, key = self.files
        try:
            context = ssl.create_default_context(cafile=ca)
            if cert:
                context.load_cert_chain(cert, key)
        except (OSError, ssl.SSLError) as problem:
            way_out = "See ca_file, cert_file, key_file"
            raise Unavailable(f"jms: certificates cannot be read: {problem}", way_out) from None
        return context

    def socket(self) -> socket.socket:
        """Raises Unavailable."""
        plain: socket.socket | None = None
        context = self._tls() if self.tls else None
        try:
            plain = socket.create_connection((self.host, self.port), _CONNECT_S)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return context.wrap_socket(plain, server_hostname=self.host) if context is not None else plain
        except OSError as problem:  # also of TLS
            if plain is not None:
                plain.close()
            said = problem.strerror or str(problem) or type(problem).__name__
            raise Unavailable(f"JMS broker {self.shown} cannot be reached: {said}", "Is it running?") from None


class Connection:
    def __init__(self, broker: Broker, client_id: str = "") -> None:
        self.broker = broker
        self._frames: collections.deque[Frame] = collections.deque()
        self._decoder = Decoder(broker.body_bytes)
        self._socket = broker.socket()
        self._sent_at = self._received_at = time.monotonic()
        self._send_every_s = self._receive_every_s = 0.0
        try:
            self._connect(client_id)
        except BaseException:
            self._socket.close()
            raise

    def _connect(self, client_id: str) -> None:
        headers = {"accept-version": "1.2", "host": self.broker.virtual_host, "heart-beat": f"{_BEAT_MS},{_BEAT_MS}"}
        if self.broker.username:
            headers |= {"login": self.broker.username, "passcode": self.broker.password}
        if client_id:
            headers["client-id"] = client_id
        if any("\n" in each or "\r" in each for each in headers.values()):
            raise Unavailable(f"JMS broker {self.broker.shown}: username or password have a line break in them")
        self.send("CONNECT", headers)
        try:
            answer = self.receive(ANSWER_S)
        except Unavailable as problem:
            raise Unavailable(f"JMS broker {self.broker.shown} does not take the login: {problem.message}") from None
        if answer is None or answer.command != "CONNECTED":
            said = "no answer" if answer is None else answer.command[:20]
            raise Unavailable(f"JMS broker {self.broker.shown} does not answer as STOMP does: {said}", "See url")
        theirs = [int(each) for each in answer.headers.get("heart-beat", "0,0").split(",") if each.isdecimal()]
        if len(theirs) == 2:
            self._send_every_s = max(_BEAT_MS, theirs[1]) / 1000 if theirs[1] else 0.0
            self._receive_every_s = max(_BEAT_MS, theirs[0]) / 1000 if theirs[0] else 0.0

    def send(self, command: str, headers: Mapping[str, str], body: bytes = b"") -> None:
        self.send_bytes(encode(command, headers, body))

    def send_bytes(self, data: bytes) -> None:
        """Frames that are encoded already, perhaps many."""
        try:
            self._socket.settimeout(ANSWER_S)
            self._socket.sendall(data)
        except OSError as problem:
            raise self._lost(problem.strerror or str(problem) or type(problem).__name__) from None
        self._sent_at = time.monotonic()

    def receive(self, wait_s: float) -> Frame | None:
        """The next frame. Raises Unavailable, also for an error that the broker tells: it closes the connection."""
        deadline = time.monotonic() + wait_s
        while not self._frames:
            left = deadline - time.monotonic()
            if not self._fill(max(0.0, left)) and left <= 0:
                return None
        frame = self._frames.popleft()
        if frame.command == "ERROR":
            said = frame.headers.get("message") or frame.body[:200].decode(errors="replace")
            raise Unavailable(f"JMS broker {self.broker.shown} says: {' '.join(said.split())[:300]}")
        return frame

    def _fill(self, wait_s: float) -> bool:
        self._beat()
        pending = isinstance(self._socket, ssl.SSLSocket) and self._socket.pending()
        if not pending and not readable(self._socket, min(wait_s, 1.0)):
            return False
        try:
            self._socket.settimeout(ANSWER_S)
            data = self._socket.recv(_READ_BYTES)
            if not data:
                raise self._lost("it was closed")
            self._frames.extend(self._decoder.add(data))
        except OSError as problem:
            raise self._lost(problem.strerror or str(problem) or type(problem).__name__) from None
        except BadFrame as problem:
            raise self._lost(str(problem)) from None
        self._received_at = time.monotonic()
        return True

    def _beat(self) -> None:
        now = time.monotonic()
        if self._send_every_s and now - self._sent_at > self._send_every_s / 2:
            self.send_bytes(b"\n")
        silent = self._receive_every_s and now - self._received_at > 3 * self._receive_every_s
        # What waits in the socket tells whether the broker is silent, or only nobody has read for so long.
        if silent and not readable(self._socket):
            raise self._lost("the broker is silent")

    def _lost(self, said: str) -> Unavailable:
        return Unavailable(f"connection to JMS broker {self.broker.shown} lost: {said}")

    def close(self) -> None:
        """When the broker has read everything that we have sent."""
        with contextlib.suppress(OSError, Unavailable):  # a connection that is broken already
            self.send("DISCONNECT", {"receipt": "bye"})
            deadline = time.monotonic() + _CLOSE_S
            while (left := deadline - time.monotonic()) > 0:
                frame = self.receive(left)
                if frame is not None and frame.headers.get("receipt-id") == "bye":
                    break
        self._socket.close()
