"""A broker that speaks STOMP 1.2 on a real socket, for tests without ActiveMQ: queues that keep a message until it is
acknowledged, receipts, logins, and Artemis' detection of duplicates."""

from __future__ import annotations

import collections
import contextlib
import itertools
import socket
import threading
from dataclasses import dataclass, field

from barnabas.connect.connectors.jms.frames import BadFrame, Decoder, Frame, encode


@dataclass
class Message:
    headers: dict[str, str]
    body: bytes
    is_text: bool


@dataclass
class Queue:
    waiting: collections.deque[Message] = field(default_factory=collections.deque)
    seen: set[str] = field(default_factory=set)  # duplicate detection ids


class FakeStomp:
    def __init__(self, login: tuple[str, str] | None = None, heart_beat: str = "0,0") -> None:
        self.login, self.heart_beat = login, heart_beat
        self.queues: dict[str, Queue] = collections.defaultdict(Queue)
        self.asked: list[Frame] = []  # every frame that came
        self.beats = 0  # line ends between frames
        self.gives_receipts = True
        self.answers_connect = True
        self.error = ""  # what the next SEND or SUBSCRIBE is answered with
        self._ids = itertools.count(1)
        self._lock = threading.RLock()
        self._sessions: list[_Session] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"stomp://127.0.0.1:{self.port}"

    def put(self, queue: str, body: bytes, **headers: str) -> None:
        """A message of somebody else."""
        with self._lock:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            self._add(queue, Message({"destination": queue, "timestamp": "1700000000000", **named}, body, False))

    def names(self) -> list[str]:
        return [each.command for each in self.asked]

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:  # closed
                return
            session = _Session(self, connection)
            self._sessions.append(session)
            session.start()

    def _add(self, queue: str, message: Message) -> None:
        message.headers.setdefault("message-id", str(next(self._ids)))
        self.queues[queue].waiting.append(message)
        self.deliver()

    def deliver(self) -> None:
        with self._lock:
            for session in self._sessions:
                session.deliver()

    def take(self, queue: str, message: Message, duplicate_id: str) -> None:
        with self._lock:
            found = self.queues[queue]
            if duplicate_id and duplicate_id in found.seen:
                return
            found.seen.add(duplicate_id)
            self._add(queue, message)

    def back(self, queue: str, messages: list[Message]) -> None:
        with self._lock:
            self.queues[queue].waiting.extendleft(reversed(messages))
            self.deliver()

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

    def __enter__(self) -> FakeStomp:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Session(threading.Thread):
    def __init__(self, broker: FakeStomp, connection: socket.socket) -> None:
        super().__init__(daemon=True)
        self._broker, self._socket = broker, connection
        self._queue = ""
        self._sent: dict[str, Message] = {}  # by what acknowledges it
        self._numbers = itertools.count(1)
        self._open = True

    def run(self) -> None:
        decoder = Decoder(1 << 24)
        try:
            while self._open and (data := self._socket.recv(65536)):
                if data.strip(b"\n") == b"":
                    self._broker.beats += 1
                for frame in decoder.add(data):
                    self._broker.asked.append(frame)
                    self._take(frame)
        except (OSError, BadFrame):
            pass  # the client is gone, or the test has hung up
        finally:
            self._open = False
            self._socket.close()
            queue, self._queue = self._queue, ""
            if queue:
                self._broker.back(queue, list(self._sent.values()))

    def hang_up(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def _send(self, command: str, headers: dict[str, str], body: bytes = b"") -> None:
        with contextlib.suppress(OSError):  # the client is gone; what it had comes back
            self._socket.sendall(encode(command, headers, body))

    def _take(self, frame: Frame) -> None:
        broker, headers = self._broker, frame.headers
        if frame.command == "CONNECT":
            self._connect(headers)
        elif broker.error and frame.command in ("SEND", "SUBSCRIBE"):
            said, broker.error = broker.error, ""
            self._send("ERROR", {"message": said})
            self._open = False
            return
        elif frame.command == "SEND":
            kept = {n: v for n, v in headers.items() if n not in ("receipt", "content-length", "_AMQ_DUPL_ID")}
            message = Message(kept, frame.body, "content-length" not in headers)
            broker.take(headers["destination"], message, headers.get("_AMQ_DUPL_ID", ""))
        elif frame.command == "SUBSCRIBE":
            self._queue = headers["destination"]
        elif frame.command == "ACK":
            self._sent.pop(headers["id"], None)
        if frame.command == "DISCONNECT":
            self._open = False
        if "receipt" in headers and (broker.gives_receipts or frame.command in ("SUBSCRIBE", "DISCONNECT")):
            self._send("RECEIPT", {"receipt-id": headers["receipt"]})
        if frame.command == "SUBSCRIBE":
            broker.deliver()

    def _connect(self, headers: dict[str, str]) -> None:
        broker = self._broker
        if not broker.answers_connect:
            return
        if broker.login is not None and broker.login != (headers.get("login"), headers.get("passcode")):
            self._send("ERROR", {"message": "Security Error occurred: User name or password is invalid"})
            self._open = False
            return
        self._send("CONNECTED", {"version": "1.2", "heart-beat": broker.heart_beat})

    def deliver(self) -> None:
        if not self._queue or not self._open:
            return
        waiting = self._broker.queues[self._queue].waiting
        while waiting:
            message = waiting.popleft()
            name = f"ack-{next(self._numbers)}"
            self._sent[name] = message
            length = {} if message.is_text else {"content-length": str(len(message.body))}
            self._send("MESSAGE", {**message.headers, "ack": name, "subscription": "0", **length}, message.body)
