"""A broker that speaks MQTT 3.1.1 and 5 on a real socket, for tests without mosquitto: sessions that keep what was not
acknowledged, retained messages, logins, limits and refusals."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from dataclasses import dataclass, field

CONNECT, CONNACK, PUBLISH, PUBACK, SUBSCRIBE, SUBACK, UNSUBSCRIBE, UNSUBACK, PINGREQ, PINGRESP, DISCONNECT = (
    *(1, 2, 3, 4, 8, 9, 10, 11, 12, 13, 14),
)


@dataclass
class Published:
    topic: str
    payload: bytes
    properties: bytes  # of version 5, without their length
    retain: bool = False


@dataclass
class Kept:
    """What the broker keeps of a client by its id."""

    filters: list[str] = field(default_factory=list)
    in_flight: dict[int, Published] = field(default_factory=dict)
    number: int = 0
    online: _Session | None = None


class FakeMqtt:
    def __init__(self, login: tuple[str, str] | None = None, limits: bytes = b"") -> None:
        """`limits`: properties of the CONNACK."""
        self.login, self.limits = login, limits
        self.kept: dict[str, Kept] = {}
        self.retained: dict[str, Published] = {}
        self.published: list[Published] = []
        self.acknowledges = True
        self.refuses: dict[str, int] = {}  # reasons of PUBACK, by topic
        self.refuses_filter = ""
        self.answers_connect = True
        self.lock = threading.RLock()
        self._sessions: list[_Session] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"mqtt://127.0.0.1:{self.port}"

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:  # closed
                return
            session = _Session(self, connection)
            self._sessions.append(session)
            session.start()

    def give(self, message: Published) -> None:
        """To everybody who has subscribed, online or not."""
        with self.lock:
            self.published.append(message)
            if message.retain:
                self.retained.pop(message.topic, None)
                if message.payload:
                    self.retained[message.topic] = message
            for kept in self.kept.values():
                if any(matches(each, message.topic) for each in kept.filters):
                    self.queue(kept, Published(message.topic, message.payload, message.properties))

    def queue(self, kept: Kept, message: Published) -> None:
        kept.number += 1
        kept.in_flight[kept.number] = message
        if kept.online is not None:
            kept.online.deliver(kept.number, message)

    def hang_up(self) -> None:
        for session in list(self._sessions):
            session.hang_up()

    def close(self) -> None:
        with contextlib.suppress(OSError):  # closed already
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(5)
        self.hang_up()
        for session in self._sessions:
            session.join(5)

    def __enter__(self) -> FakeMqtt:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def matches(wanted: str, topic: str) -> bool:
    levels, given = wanted.split("/"), topic.split("/")
    for place, level in enumerate(levels):
        if level == "#":
            return True
        if place >= len(given) or level not in ("+", given[place]):
            return False
    return len(levels) == len(given)


class _Bytes:
    """Reads fields in their order."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, count: int) -> bytes:
        part = self._data[self._at : self._at + count]
        self._at += count
        return part

    def byte(self) -> int:
        return self.take(1)[0]

    def number(self) -> int:
        return int.from_bytes(self.take(2), "big")

    def text(self) -> bytes:
        return self.take(self.number())

    def properties(self) -> bytes:
        length = shift = 0
        while True:
            byte = self.byte()
            length |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return self.take(length)

    def rest(self) -> bytes:
        return self.take(len(self._data) - self._at)

    @property
    def is_over(self) -> bool:
        return self._at >= len(self._data)


def _length(number: int) -> bytes:
    found = b""
    while True:
        number, byte = divmod(number, 128)
        found += bytes([byte | (128 if number else 0)])
        if not number:
            return found


class _Session(threading.Thread):
    def __init__(self, broker: FakeMqtt, connection: socket.socket) -> None:
        super().__init__(daemon=True)
        self._broker, self._socket = broker, connection
        self._file = connection.makefile("rb")
        self._kept = Kept()
        self._id = ""
        self._is_5 = self._is_clean = False
        self._sending = threading.Lock()

    def run(self) -> None:
        try:
            while self._packet():
                pass
        except (OSError, EOFError, ValueError):
            pass  # the client is gone, or the test has hung up
        finally:
            with self._broker.lock:
                if self._kept.online is self:
                    self._kept.online = None
                    if self._is_clean:
                        self._broker.kept.pop(self._id, None)
            self._file.close()
            self._socket.close()

    def hang_up(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def _read(self, count: int) -> bytes:
        data = self._file.read(count)
        if len(data) < count:
            raise EOFError
        return data

    def _send(self, kind: int, body: bytes, flags: int = 0) -> None:
        with self._sending, contextlib.suppress(OSError):
            self._socket.sendall(bytes([kind << 4 | flags]) + _length(len(body)) + body)

    def _with_properties(self, properties: bytes = b"") -> bytes:
        return _length(len(properties)) + properties if self._is_5 else b""

    def _packet(self) -> bool:
        first = self._read(1)[0]
        length = shift = 0
        while True:
            byte = self._read(1)[0]
            length |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        body = _Bytes(self._read(length))
        kind = first >> 4
        if kind == CONNECT:
            return self._connect(body)
        if kind == PUBLISH:
            self._publish(first & 15, body)
        elif kind == PUBACK:
            with self._broker.lock:
                self._kept.in_flight.pop(body.number(), None)
        elif kind in (SUBSCRIBE, UNSUBSCRIBE):
            self._subscribe(kind, body)
        elif kind == PINGREQ:
            self._send(PINGRESP, b"")
        return kind != DISCONNECT

    def _connect(self, body: _Bytes) -> bool:
        broker = self._broker
        body.text()
        self._is_5 = body.byte() == 5
        flags = body.byte()
        body.number()
        properties = body.properties() if self._is_5 else b""
        self._id = body.text().decode()
        name = body.text().decode() if flags & 0x80 else ""
        password = body.text().decode() if flags & 0x40 else ""
        if not broker.answers_connect:
            return True
        if broker.login is not None and broker.login != (name, password):
            code = 0x86 if self._is_5 else 4
            self._send(CONNACK, bytes([0, code]) + self._with_properties())
            return False
        clean = bool(flags & 2)
        # Of version 5 the session ends with the connection unless an interval (property 17) says otherwise.
        self._is_clean = clean if not self._is_5 else not any(_interval(properties))
        with broker.lock:
            present = not clean and self._id in broker.kept
            if not present:
                broker.kept.pop(self._id, None)
            self._kept = broker.kept.setdefault(self._id, Kept())
            former, self._kept.online = self._kept.online, self
            if former is not None:
                former.taken_over()
            self._send(CONNACK, bytes([present, 0]) + self._with_properties(broker.limits))
            for number, message in sorted(self._kept.in_flight.items()):
                self.deliver(number, message, again=True)
        return True

    def taken_over(self) -> None:
        if self._is_5:
            self._send(DISCONNECT, bytes([0x8E, 0]))
        self.hang_up()

    def deliver(self, number: int, message: Published, again: bool = False) -> None:
        topic = message.topic.encode()
        body = struct.pack(">H", len(topic)) + topic + struct.pack(">H", number)
        body += self._with_properties(message.properties) + message.payload
        self._send(PUBLISH, body, (8 if again else 0) | 2 | message.retain)

    def _publish(self, flags: int, body: _Bytes) -> None:
        topic = body.text().decode()
        number = body.number() if flags & 6 else 0
        properties = body.properties() if self._is_5 else b""
        reason = self._broker.refuses.get(topic, 0)
        if not reason:
            self._broker.give(Published(topic, body.rest(), properties, bool(flags & 1)))
        if number and self._broker.acknowledges:
            self._send(PUBACK, struct.pack(">H", number) + (bytes([reason, 0]) if self._is_5 and reason else b""))

    def _subscribe(self, kind: int, body: _Bytes) -> None:
        number = body.number()
        if self._is_5:
            body.properties()
        codes, fresh = b"", []
        while not body.is_over:
            wanted = body.text().decode()
            if kind == UNSUBSCRIBE:
                with contextlib.suppress(ValueError):
                    self._kept.filters.remove(wanted)
                codes += b"\0"
                continue
            options = body.byte()
            if wanted == self._broker.refuses_filter:
                codes += b"\x87" if self._is_5 else b"\x80"
                continue
            handling = options >> 4 & 3
            if handling == 0 or (handling == 1 and wanted not in self._kept.filters):
                fresh.append(wanted)
            if wanted not in self._kept.filters:
                self._kept.filters.append(wanted)
            codes += b"\1"
        answer = struct.pack(">H", number) + self._with_properties()
        has_codes = kind == SUBSCRIBE or self._is_5
        self._send(SUBACK if kind == SUBSCRIBE else UNSUBACK, answer + (codes if has_codes else b""))
        with self._broker.lock:
            for message in self._broker.retained.values():
                if any(matches(each, message.topic) for each in fresh):
                    self._broker.queue(self._kept, message)


def _interval(properties: bytes) -> bytes:
    """The session expiry interval, which our client puts first."""
    return properties[1:5] if properties[:1] == b"\x11" else b""
