"""Messages of queues and topics as records.

A message is acknowledged after the transaction that has it. One whose acknowledgement does not reach the broker comes
again; the position has the marks of the last messages that were read, and of all whose acknowledgement the broker has
not confirmed, so that such a message is known, acknowledged, and dropped. A mark is made of the message's id, its time
and its body: a broker that begins anew gives the same ids to other messages.
"""

from __future__ import annotations

import collections
import contextlib
import re
import time
from collections.abc import Sequence
from hashlib import blake2b
from typing import Literal

from barnabas.connect.connectors.jms.connection import ANSWER_S, Broker, BrokerOptions, Connection
from barnabas.connect.connectors.jms.frames import Frame, encode
from barnabas.connect.contract import Chunk, Options, Position, Reader, Record, Source
from barnabas.connect.errors import BadOption, Unavailable
from barnabas.connect.options import read_options

UNCONFIRMED_MAX = 20_000
# A broker gives what a killed reader had to the next one when it has noticed: Artemis at the latest after its
# connection-ttl, a minute. New messages come meanwhile.
HOLD_S = 120.0
_CONSUMER = re.compile(r"^\d+,")  # Artemis puts the number of the consumer before the id
# Of the protocol or of who sent it, not of the message.
_NOT_OF_THE_MESSAGE = frozenset(
    ("subscription", "ack", "content-length", "receipt", "destination-type", "subscription-type", "redelivered")
)


class JmsSourceOptions(BrokerOptions, kw_only=True, forbid_unknown_fields=True):
    queues: list[str] = []
    topics: list[str] = []
    subscription: str = ""
    selector: str = ""
    key: str = ""
    remember: int = 1000
    window_bytes: int = 8 * 1024 * 1024


class JmsSource(Source):
    def __init__(self, name: str, given: Options) -> None:
        self._options = options = read_options("jms", JmsSourceOptions, given)
        self._broker = Broker(options)
        self._client_id = f"barnabas-{name}" if options.topics and options.subscription else ""
        if not (options.queues or options.topics):
            raise BadOption("jms needs one of the options 'queues' and 'topics'")
        if not 0 <= options.remember <= 10_000:
            raise BadOption(f"option 'remember' of jms: {options.remember} is not between 0 and 10000")
        if not 1024 <= options.window_bytes <= 256 * 1024 * 1024:
            raise BadOption(f"option 'window_bytes' of jms: {options.window_bytes} is not between 1024 and 268435456")
        if options.subscription and len(options.topics) > 1:
            raise BadOption("option 'subscription' of jms is for one topic", "Make a connector for each")
        if options.topics and not options.subscription:
            self.exactly_once = False  # type: ignore[misc]  # while no worker runs, the broker keeps nothing for it

    def splits(self) -> Sequence[str]:
        options = self._options
        return [*(f"queue:{each}" for each in options.queues), *(f"topic:{each}" for each in options.topics)]

    def open(self, split: str, position: Position | None) -> Reader:
        kind, _, destination = split.partition(":")
        assert kind in ("queue", "topic")
        connection = Connection(self._broker, self._client_id if kind == "topic" else "")
        try:
            return JmsReader(connection, self._options, "queue" if kind == "queue" else "topic", destination, position)
        except BaseException:
            connection.close()
            raise


class JmsReader(Reader):
    def __init__(
        self,
        connection: Connection,
        options: JmsSourceOptions,
        kind: Literal["queue", "topic"],
        destination: str,
        position: Position | None,
    ) -> None:
        given = position or {}
        self._connection, self._options = connection, options
        self._count = int(given.get("count", 0))
        # Marks of what was read, in order: a dict keeps it, and is quick to ask. Those whose acknowledgement the broker
        # had not confirmed when a reader ended are held apart for a while, however many come after them.
        marks = [str(each) for each in given.get("marks", ())]
        held, rest = int(given.get("held", 0)), len(marks) - int(given.get("unconfirmed", len(marks)))
        self._held = dict.fromkeys([*marks[:held], *marks[max(held, rest) :]])
        self._marks = dict.fromkeys(marks[held:rest])
        self._held_until = time.monotonic() + HOLD_S
        self._waiting: collections.deque[Frame] = collections.deque()
        self._unacknowledged: collections.deque[tuple[int, str]] = collections.deque()  # count, what to acknowledge
        self._unconfirmed: dict[str, int] = {}  # receipts: how many marks there were
        self._confirmed_to = self._count  # by count
        self._answers: set[str] = set()
        self._subscribe(kind, destination)

    def _subscribe(self, kind: str, destination: str) -> None:
        options = self._options
        headers = {
            "id": "0",
            "destination": destination,
            "ack": "client-individual",
            "receipt": "subscribed",
            "subscription-type": "ANYCAST" if kind == "queue" else "MULTICAST",
            "consumer-window-size": str(options.window_bytes),
            "activemq.prefetchSize": "1000",  # the same for ActiveMQ Classic, by messages
        }
        if options.selector:
            headers["selector"] = options.selector
        if options.subscription and kind == "topic":
            headers |= dict.fromkeys(("durable-subscription-name", "activemq.subscriptionName"), options.subscription)
        self._connection.send("SUBSCRIBE", headers)
        self._await("subscribed")

    def _await(self, receipt: str) -> None:
        deadline = time.monotonic() + ANSWER_S
        while receipt not in self._answers:
            left = deadline - time.monotonic()
            if left <= 0:
                shown = self._connection.broker.shown
                raise Unavailable(f"no answer of JMS broker {shown} in {ANSWER_S:.0f} s")
            self._receive(left)
        self._answers.discard(receipt)

    def _receive(self, wait_s: float) -> None:
        frame = self._connection.receive(wait_s)
        if frame is None:
            return
        if frame.command == "MESSAGE":
            self._waiting.append(frame)
        elif frame.command == "RECEIPT":
            receipt = frame.headers.get("receipt-id", "")
            self._confirmed_to = max(self._confirmed_to, self._unconfirmed.pop(receipt, 0))
            if receipt == "subscribed":
                self._answers.add(receipt)

    def read(self, most: int, wait_s: float) -> Chunk | None:
        deadline = time.monotonic() + wait_s
        while not self._waiting or self._is_full():
            self._receive(max(0.0, deadline - time.monotonic()))
            if (not self._waiting or self._is_full()) and time.monotonic() >= deadline:
                return None
        records: list[Record] = []
        known: list[str] = []  # were committed before
        while self._waiting and len(records) < most and not self._is_full():
            frame = self._waiting.popleft()
            mark = _mark(frame)
            if mark in self._marks or mark in self._held:
                known.append(frame.headers.get("ack", ""))
            elif frame.dropped:
                if records or known:  # what came before it is good
                    self._waiting.appendleft(frame)
                    break
                raise self._too_large(frame)
            else:
                self._count += 1
                self._marks[mark] = None
                self._unacknowledged.append((self._count, frame.headers.get("ack", "")))
                records.append(self._record(frame))
            if not self._waiting and len(records) < most:
                self._receive(0)
        self._acknowledge(known)
        return Chunk(records, self._position()) if records else None

    def _position(self) -> Position:
        """With the marks of all that may come again."""
        unconfirmed = self._count - self._confirmed_to
        keep = self._options.remember + unconfirmed
        for mark in list(self._marks)[: max(0, len(self._marks) - keep)]:
            del self._marks[mark]
        marks = [*self._held, *self._marks]
        return {"count": self._count, "marks": marks, "held": len(self._held), "unconfirmed": unconfirmed}

    def _is_full(self) -> bool:
        """More marks than a position may have; it goes on when the broker has confirmed some."""
        if self._held and time.monotonic() >= self._held_until:
            self._marks = {**self._held, **self._marks}
            self._held = {}
        return len(self._held) + self._count - self._confirmed_to >= UNCONFIRMED_MAX

    def _too_large(self, frame: Frame) -> Unavailable:
        """It is not refused by NACK: Artemis deletes a message then."""
        broker, name = self._connection.broker, frame.headers.get("message-id", "")[:100]
        return Unavailable(
            f"message {name} of {frame.dropped} bytes at JMS broker {broker.shown} is larger than max_bytes, "
            f"{broker.body_bytes}",
            "Raise max_bytes, or move the message elsewhere",
        )

    def _record(self, frame: Frame) -> Record:
        headers = frame.headers
        key = headers.get(self._options.key) if self._options.key else None
        sent = headers.get("timestamp", "")
        named = [(name, text.encode()) for name, text in headers.items() if name not in _NOT_OF_THE_MESSAGE]
        return Record(frame.body, key, None, int(sent) if sent.isdecimal() and len(sent) < 15 else None, named)

    def committed(self, position: Position) -> None:
        """What was committed is acknowledged, the last with a receipt that confirms all of them."""
        count = min(int(position["count"]), self._count)
        due: list[str] = []
        while self._unacknowledged and self._unacknowledged[0][0] <= count:
            due.append(self._unacknowledged.popleft()[1])
        if due:
            receipt = f"ack-{count}"
            self._unconfirmed[receipt] = count
            with contextlib.suppress(Unavailable):  # the next read says so
                self._acknowledge(due, receipt)

    def _acknowledge(self, acks: list[str], receipt: str = "") -> None:
        if not acks:
            return
        frames = [encode("ACK", {"id": each}) for each in acks[:-1]]
        frames.append(encode("ACK", {"id": acks[-1], **({"receipt": receipt} if receipt else {})}))
        self._connection.send_bytes(b"".join(frames))

    def close(self) -> None:
        self._connection.close()


def _mark(frame: Frame) -> str:
    headers = frame.headers
    named = f"{_CONSUMER.sub('', headers.get('message-id', ''))}\n{headers.get('timestamp', '')}\n{frame.dropped}\n"
    return blake2b(named.encode() + frame.body, digest_size=8).hexdigest()
