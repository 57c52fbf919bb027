"""Messages of an MQTT broker as records, the key being the topic of the message.

The session is kept by the broker under a name that stays the same, and a message is acknowledged after the transaction
that has it: what was not acknowledged comes again with the next connection. So a message comes twice when a worker ends
between the two. A position counts messages, and says nothing that the broker would understand.
"""

from __future__ import annotations

import collections
import time
from collections.abc import Sequence
from typing import ClassVar

from paho.mqtt.client import Client, MQTTMessage
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from barnabas.connect.connectors.mqtt.connection import Broker, BrokerOptions, Connection
from barnabas.connect.contract import Chunk, Options, Position, Reader, Record, Source
from barnabas.connect.errors import BadOption, Unavailable
from barnabas.connect.options import read_options

SPLIT = "messages"
_USER_PROPERTIES_MAX = 100


class MqttSourceOptions(BrokerOptions, kw_only=True, forbid_unknown_fields=True):
    topics: list[str]
    retained: bool = False
    in_flight: int = 1000
    session_expiry_s: int = 7 * 24 * 3600


class MqttSource(Source):
    exactly_once: ClassVar[bool] = False

    def __init__(self, name: str, given: Options) -> None:
        self._options = read_options("mqtt", MqttSourceOptions, given)
        self._broker = Broker(self._options)
        self._client_id = self._options.client_id or f"barnabas-{name}"
        if not self._options.topics:
            raise BadOption("option 'topics' of mqtt is empty", 'Name topics, or "#" for all')
        for topic in self._options.topics:
            check_filter(topic)
        if not 1 <= self._options.in_flight <= 65_535:
            raise BadOption(f"option 'in_flight' of mqtt: {self._options.in_flight} is not between 1 and 65535")
        if not 1 <= self._options.session_expiry_s < 2**32:
            raise BadOption(f"option 'session_expiry_s' of mqtt: {self._options.session_expiry_s} is not above 0")

    def splits(self) -> Sequence[str]:
        return [SPLIT]

    def open(self, split: str, position: Position | None) -> Reader:
        connection = Connection(self._broker, self._client_id, self._options.session_expiry_s, self._options.in_flight)
        return MqttReader(connection, self._options, position)


def check_filter(topic: str) -> None:
    """Raises BadOption if no broker would take it."""
    levels = topic.split("/")
    wrong = not topic or len(topic.encode()) > 65_535 or "\0" in topic
    wrong = wrong or any("+" in level and level != "+" for level in levels)
    wrong = wrong or any("#" in level for level in levels[:-1]) or ("#" in levels[-1] and levels[-1] != "#")
    if wrong:
        raise BadOption(
            f"option 'topics' of mqtt: {topic!r} is no topic filter", "Write it as sensors/+/temperature or sensors/#"
        )


class MqttReader(Reader):
    def __init__(self, connection: Connection, options: MqttSourceOptions, position: Position | None) -> None:
        given = position or {}
        self._connection, self._options = connection, options
        self._count = int(given.get("count", 0))
        self._waiting: collections.deque[MQTTMessage] = collections.deque()
        self._unacknowledged: collections.deque[tuple[int, int, int]] = collections.deque()  # count, id, quality
        self._answers: dict[int, list[ReasonCode]] = {}
        client = connection.client
        client.on_message = self._on_message
        client.on_subscribe = self._on_answer
        client.on_unsubscribe = self._on_answer
        try:
            before = [str(each) for each in given.get("topics", ())]
            if not connection.session_present or before != options.topics:
                self._subscribe([each for each in before if each not in options.topics])
        except BaseException:
            connection.close()
            raise

    def _subscribe(self, former: list[str]) -> None:
        """Only when something is new: a broker of version 3.1.1 sends what it retains at each subscribe."""
        client, topics = self._connection.client, self._options.topics
        five = self._connection.broker.is_5
        if five:
            handling = 1 if self._options.retained else 2  # at new subscriptions only; never
            asked = [
                (each, SubscribeOptions(qos=1, retainAsPublished=False, retainHandling=handling)) for each in topics
            ]
            code, number = client.subscribe(asked)
        else:
            code, number = client.subscribe([(each, 1) for each in topics])
        self._connection.check(code)
        assert number is not None
        self._connection.wait(lambda: number in self._answers, "to the subscribe")
        for topic, answer in zip(topics, self._answers[number], strict=False):
            if answer.is_failure:
                shown = self._connection.broker.shown
                raise Unavailable(f"MQTT broker {shown} does not let us subscribe to {topic!r}: {answer}")
        if former:
            code, number = client.unsubscribe(former)
            self._connection.check(code)

    def _on_answer(
        self, client: Client, data: object, number: int, answers: list[ReasonCode], properties: Properties | None
    ) -> None:
        self._answers[number] = answers

    def _on_message(self, client: Client, data: object, message: MQTTMessage) -> None:
        self._waiting.append(message)

    def read(self, most: int, wait_s: float) -> Chunk | None:
        deadline = time.monotonic() + wait_s
        while not self._waiting:
            self._connection.turn(min(1.0, deadline - time.monotonic()))
            if not self._waiting and time.monotonic() >= deadline:
                return None
        records: list[Record] = []
        while self._waiting and len(records) < most:
            if (record := self._record(self._waiting.popleft())) is not None:
                records.append(record)
            if not self._waiting:
                self._connection.turn(0)
        return Chunk(records, {"count": self._count, "topics": self._options.topics}) if records else None

    def _record(self, message: MQTTMessage) -> Record | None:
        if message.retain and not self._options.retained:
            self._connection.client.ack(message.mid, message.qos)
            return None
        self._count += 1
        if message.qos:
            self._unacknowledged.append((self._count, message.mid, message.qos))
        try:
            topic = message.topic
        except UnicodeDecodeError:  # no broker should let it through
            topic = message._topic.decode(errors="replace")
        headers: list[tuple[str, bytes | None]] = [("mqtt.topic", topic.encode())]
        if message.retain:
            headers.append(("mqtt.retained", b"true"))
        for name, value in getattr(message.properties, "UserProperty", ())[:_USER_PROPERTIES_MAX]:
            headers.append((name, value.encode()))
        return Record(message.payload, key=topic, headers=headers)

    def committed(self, position: Position) -> None:
        while self._unacknowledged and self._unacknowledged[0][0] <= position["count"]:
            _, number, quality = self._unacknowledged.popleft()
            self._connection.client.ack(number, quality)  # a connection that is lost is noticed by the next read

    def close(self) -> None:
        self._connection.close()
