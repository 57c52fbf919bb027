"""Records as messages of a queue or a topic: a batch is written when the broker has confirmed each of them.

A message carries where its record stands as a duplicate detection id. Artemis drops a second one with the same, so that
what is sent again after a crash is there once; other brokers keep both.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar, Literal

from barnabas.connect.connectors.jms.connection import ANSWER_S, Broker, BrokerOptions, Connection
from barnabas.connect.connectors.jms.frames import encode
from barnabas.connect.connectors.payloads import Template, payload
from barnabas.connect.contract import Delivered, Options, Rejected, Sink, Writer
from barnabas.connect.errors import BadOption, Unavailable
from barnabas.connect.options import read_options
from barnabas.connect.values.formats import BadValue

_IN_FLIGHT_BYTES = 1024 * 1024  # what is sent before an answer is waited for
_IN_FLIGHT = 500
# Headers with a meaning in SEND, which a record must not set.
_RESERVED = frozenset(
    ("destination", "transaction", "receipt", "content-length", "persistent", "expires", "message-id", "subscription")
)


class JmsSinkOptions(BrokerOptions, kw_only=True, forbid_unknown_fields=True):
    queue: str = ""
    topic: str = ""
    group: str = ""
    message: Literal["auto", "text", "bytes"] = "auto"
    headers: bool = True
    expires_s: int = 0


class JmsSink(Sink):
    exactly_once: ClassVar[bool] = False

    def __init__(self, name: str, given: Options) -> None:
        self._name = name
        self._options = options = read_options("jms", JmsSinkOptions, given)
        self._broker = Broker(options)
        if bool(options.queue) == bool(options.topic):
            raise BadOption("jms needs one of the options 'queue' and 'topic'")
        self._destination = Template("option 'queue' or 'topic' of jms", options.queue or options.topic)
        self._group = Template("option 'group' of jms", options.group)

    def open(self, topic: str, partition: int) -> Writer:
        return JmsWriter(Connection(self._broker), self._name, self._options, self._destination, self._group)


class JmsWriter(Writer):
    def __init__(
        self, connection: Connection, name: str, options: JmsSinkOptions, destination: Template, group: Template
    ) -> None:
        self._connection, self._name, self._options = connection, name, options
        self._destination, self._group = destination, group
        self._number = 0
        self._unconfirmed: set[str] = set()

    def write(self, records: Sequence[Delivered], next_offset: int) -> Sequence[Rejected]:
        rejected: list[Rejected] = []
        frames: list[bytes] = []
        size = 0
        for record in records:
            try:
                frame = self._frame(record)
            except BadValue as problem:
                rejected.append(Rejected(record, str(problem)))
                continue
            frames.append(frame)
            size += len(frame)
            if size >= _IN_FLIGHT_BYTES or len(frames) >= _IN_FLIGHT:
                self._send(frames)
                frames, size = [], 0
        self._send(frames)
        return rejected

    def _send(self, frames: list[bytes]) -> None:
        self._connection.send_bytes(b"".join(frames))
        deadline = time.monotonic() + ANSWER_S
        while self._unconfirmed:
            frame = self._connection.receive(1.0)
            if frame is not None and frame.command == "RECEIPT":
                self._unconfirmed.discard(frame.headers.get("receipt-id", ""))
                deadline = time.monotonic() + ANSWER_S
            elif time.monotonic() > deadline:
                shown = self._connection.broker.shown
                raise Unavailable(
                    f"JMS broker {shown} has not confirmed {len(self._unconfirmed)} messages in {ANSWER_S:.0f} s"
                )

    def _frame(self, record: Delivered) -> bytes:
        options = self._options
        body = payload(record.value)
        if len(body) > options.max_bytes:
            raise BadValue(f"a message of {len(body)} bytes is larger than max_bytes, {options.max_bytes}")
        headers: dict[str, str] = {}
        if options.headers:
            headers = {name: _text(value) for name, value in record.headers if name.lower() not in _RESERVED}
        headers |= {
            "destination": self._destination.fill(record),
            "destination-type": "ANYCAST" if options.queue else "MULTICAST",
            "persistent": "true",
            "_AMQ_DUPL_ID": f"{self._name}-{record.origin}-{record.partition}-{record.offset}",
        }
        if self._group.text:
            headers["JMSXGroupID"] = self._group.fill(record)
        if options.expires_s:
            headers["expires"] = str(int(time.time() + options.expires_s) * 1000)
        as_text = options.message == "text" or (options.message == "auto" and not isinstance(record.value, bytes))
        if as_text and b"\0" in body:
            raise BadValue("text with a null character in it cannot be sent by STOMP as text")
        if not as_text:
            headers["content-length"] = str(len(body))
        self._number += 1
        receipt = headers["receipt"] = str(self._number)
        self._unconfirmed.add(receipt)
        return encode("SEND", headers, body)

    def close(self) -> None:
        self._connection.close()


def _text(value: bytes | None) -> str:
    return (value or b"").decode(errors="replace")
