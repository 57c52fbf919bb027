"""A connection to an MQTT broker that one thread uses: nothing happens but in `turn`."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import time
from collections.abc import Callable
from typing import Literal
from urllib.parse import unquote, urlsplit

import msgspec
from paho.mqtt.client import Client, ConnectFlags, DisconnectFlags, error_string
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from barnabas.connect.errors import BadOption, Unavailable
from barnabas.connect.options import Secret, without_password

ANSWER_S = 20.0  # for the answer to a connect, a subscribe, a publish
_KEEPALIVE_S = 60
_CLOSE_S = 2.0
_DISCONNECT = b"\xe0\x00"
PACKET_BYTES_MAX = 16 * 1024 * 1024


class BrokerOptions(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    url: str
    username: str = ""
    password: Secret = ""
    version: Literal["3.1.1", "5"] = "5"
    client_id: str = ""
    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""

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
        if parts.scheme not in ("mqtt", "mqtts") or not parts.hostname:
            shown = without_password(options.url)
            raise BadOption(f"option 'url' of mqtt: {shown!r}", "Write it as mqtt://HOST:1883 or mqtts://HOST:8883")
        self.host, self.port = parts.hostname, port or (8883 if parts.scheme == "mqtts" else 1883)
        self.shown = f"{self.host}:{self.port}"
        self.username = options.username or unquote(parts.username or "")
        self.password = options.password or unquote(parts.password or "")
        self.is_5 = options.version == "5"
        self.tls = parts.scheme == "mqtts"
        self.files = (options.ca_file or None, options.cert_file or None, options.key_file or None)
        if any(self.files) and not self.tls:
            raise BadOption("mqtt: certificates are given, but url begins with mqtt://", "Write mqtts://")

    def tls_context(self) -> ssl.SSLContext:
        ca, cert, key = self.files
        try:
            context = ssl.create_default_context(cafile=ca)
            if cert:
                context.load_cert_chain(cert, key)
        except (OSError, ssl.SSLError) as problem:
            raise Unavailable(
                f"mqtt: certificates cannot be read: {problem}", "See ca_file, cert_file, key_file"
            ) from None
        return context


class Connection:
    def __init__(self, broker: Broker, client_id: str, session_s: int, in_flight: int) -> None:
        """`session_s`: how long the broker keeps what we have subscribed to when we are gone; 0: not at all."""
        self.broker = broker
        self.session_present = False
        self.received_most = 65_535  # messages in flight that the broker takes
        self.packet_most = PACKET_BYTES_MAX
        self._refused = ""
        self._left = ""
        self._connected = False
        five = broker.is_5
        self.client = Client(
            CallbackAPIVersion.VERSION2,
            client_id=client_id,
            clean_session=None if five else session_s == 0,
            protocol=MQTTProtocolVersion.MQTTv5 if five else MQTTProtocolVersion.MQTTv311,
            manual_ack=True,
            reconnect_on_failure=False,
        )
        self.client.max_inflight_messages = 0  # the sink counts them itself
        self.client.connect_timeout = ANSWER_S
        if broker.username:
            self.client.username_pw_set(broker.username, broker.password or None)
        if broker.tls:
            self.client.tls_set_context(broker.tls_context())
        self.client.on_connect = self._on_connect
        self.client.on_disconnect = self._on_disconnect
        self._connect(session_s, in_flight)

    def _connect(self, session_s: int, in_flight: int) -> None:
        properties = None
        if self.broker.is_5:
            properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
            properties.SessionExpiryInterval = session_s
            properties.ReceiveMaximum = in_flight
            properties.MaximumPacketSize = PACKET_BYTES_MAX
        try:
            self.client.connect(
                self.broker.host,
                self.broker.port,
                _KEEPALIVE_S,
                clean_start=session_s == 0 if self.broker.is_5 else 3,  # 3: as the session is, of version 3.1.1
                properties=properties,
            )
        except OSError as problem:  # also of TLS
            said = problem.strerror or str(problem) or type(problem).__name__
            raise Unavailable(f"MQTT broker {self.broker.shown} cannot be reached: {said}", "Is it running?") from None
        try:
            self.wait(lambda: self._connected or bool(self._refused), "to the connect")
        except Unavailable:
            self.close()
            if not self._refused:
                raise
        if self._refused:
            self.close()
            raise Unavailable(
                f"MQTT broker {self.broker.shown} refuses the login: {self._refused}", "See username and password"
            )

    def _on_connect(
        self, client: Client, data: object, flags: ConnectFlags, reason: ReasonCode, properties: Properties | None
    ) -> None:
        if reason.is_failure:
            self._refused = str(reason)
            return
        self._connected, self.session_present = True, flags.session_present
        self.received_most = getattr(properties, "ReceiveMaximum", self.received_most)
        self.packet_most = min(self.packet_most, getattr(properties, "MaximumPacketSize", self.packet_most))

    def _on_disconnect(
        self, client: Client, data: object, flags: DisconnectFlags, reason: ReasonCode, properties: Properties | None
    ) -> None:
        if flags.is_disconnect_packet_from_server:
            self._left = str(reason)

    def turn(self, wait_s: float) -> None:
        """Sends what is due, and receives at most about one packet. Raises Unavailable.

        Paho's own `loop` waits by select(), which takes the descriptors below 1,024 only."""
        wire = self.client.socket()
        if wire is None:
            self.check(MQTTErrorCode.MQTT_ERR_NO_CONN)
            return
        has_more = isinstance(wire, ssl.SSLSocket) and wire.pending() > 0  # read by TLS, and not by us
        poll = select.poll()
        poll.register(wire, select.POLLIN | (select.POLLOUT if self.client.want_write() else 0))
        found = poll.poll(0 if has_more else max(0.0, wait_s) * 1000)
        events = found[0][1] if found else 0
        if has_more or events & ~select.POLLOUT:
            self.check(self.client.loop_read())
        if events & select.POLLOUT:
            self.check(self.client.loop_write())
        self.check(self.client.loop_misc())

    def check(self, code: MQTTErrorCode) -> None:
        if code != MQTTErrorCode.MQTT_ERR_SUCCESS:
            said = self._left or error_string(code).rstrip(".")
            raise Unavailable(f"connection to MQTT broker {self.broker.shown} lost: {said}")

    def wait(self, is_there: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + ANSWER_S
        while not is_there():
            left = deadline - time.monotonic()
            if left <= 0:
                raise Unavailable(f"no answer of MQTT broker {self.broker.shown} {what} in {ANSWER_S:.0f} s")
            self.turn(min(left, 1.0))

    def close(self) -> None:
        """With everything that was acknowledged at the broker: a socket that is closed with something unread in it, as
        paho's `disconnect` does, takes back what is on its way."""
        deadline = time.monotonic() + _CLOSE_S
        while self.client.want_write() and time.monotonic() < deadline:
            if self.client.loop_write() != MQTTErrorCode.MQTT_ERR_SUCCESS:
                break
        sock = self.client.socket()
        if not isinstance(sock, socket.socket):  # closed already; paho has other kinds, not for these addresses
            return
        with contextlib.suppress(OSError):  # a connection that is broken already
            sock.settimeout(_CLOSE_S)
            sock.send(_DISCONNECT)
            sock.shutdown(socket.SHUT_WR)
            while time.monotonic() < deadline and sock.recv(65536):
                pass
        sock.close()
