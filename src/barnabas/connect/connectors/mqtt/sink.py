"""Records as messages of an MQTT broker, by quality of service 1: a batch is written when the broker has acknowledged
all of it. What is sent again after a crash is sent twice."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from typing import ClassVar

from paho.mqtt.client import Client
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from barnabas.connect.connectors.mqtt.connection import ANSWER_S, PACKET_BYTES_MAX, Broker, BrokerOptions, Connection
from barnabas.connect.connectors.payloads import Template, payload
from barnabas.connect.contract import Delivered, Options, Rejected, Sink, Writer
from barnabas.connect.errors import BadOption, Unavailable
from barnabas.connect.options import read_options
from barnabas.connect.values.formats import BadValue

_IN_FLIGHT = 1000
_TOPIC_BYTES_MAX = 65_535
_PACKET_HEAD_BYTES = 16
# Of version 5. Others are of the broker's state and may pass: a quota, a right that is not given yet.
_REFUSALS = {0x90, 0x95, 0x99}  # topic name invalid, packet too large, payload format invalid


class MqttSinkOptions(BrokerOptions, kw_only=True, forbid_unknown_fields=True):
    topic: str = "{topic}/{key}"
    retain: bool = False
    headers: bool = True
    max_bytes: int = PACKET_BYTES_MAX


class MqttSink(Sink):
    exactly_once: ClassVar[bool] = False

    def __init__(self, name: str, given: Options) -> None:
        self._options = read_options("mqtt", MqttSinkOptions, given)
        self._broker = Broker(self._options)
        self._client_id = self._options.client_id or f"barnabas-{name}"
        self._template = Template("option 'topic' of mqtt", self._options.topic)
        if not self._options.topic or "#" in self._options.topic or "+" in self._options.topic:
            raise BadOption(f"option 'topic' of mqtt: nothing can be published to {self._options.topic!r}")

    def open(self, topic: str, partition: int) -> Writer:
        connection = Connection(self._broker, f"{self._client_id}-{topic}-{partition}", 0, 1)
        return MqttWriter(connection, self._options, self._template)


class MqttWriter(Writer):
    def __init__(self, connection: Connection, options: MqttSinkOptions, template: Template) -> None:
        self._connection, self._options, self._template = connection, options, template
        self._in_flight: dict[int, Delivered] = {}
        self._rejected: list[Rejected] = []
        self._busy = ""
        connection.client.on_publish = self._on_publish

    def write(self, records: Sequence[Delivered], next_offset: int) -> Sequence[Rejected]:
        self._rejected = []
        window = min(_IN_FLIGHT, self._connection.received_most)
        for record in records:
            self._await_fewer_than(window)
            try:
                self._publish(record)
            except BadValue as problem:
                self._rejected.append(Rejected(record, str(problem)))
        self._await_fewer_than(1)
        return self._rejected

    def _publish(self, record: Delivered) -> None:
        topic, data = self._template.fill(record), payload(record.value)
        name = topic.encode(errors="replace")
        if not topic or len(name) > _TOPIC_BYTES_MAX or any(each in topic for each in "+#\0"):
            raise BadValue(f"nothing can be published to the MQTT topic {topic[:100]!r}")
        properties = self._properties(record)
        size = len(data) + len(name) + _PACKET_HEAD_BYTES + (_packed(properties))
        most = min(self._options.max_bytes, self._connection.packet_most)
        if size > most:
            raise BadValue(f"a message of {size} bytes is larger than the {most} that go to the broker")
        sent = self._connection.client.publish(topic, data, qos=1, retain=self._options.retain, properties=properties)
        self._connection.check(sent.rc)
        self._in_flight[sent.mid] = record

    def _properties(self, record: Delivered) -> Properties | None:
        if not (self._connection.broker.is_5 and self._options.headers and record.headers):
            return None
        found = []
        for name, value in record.headers:
            with contextlib.suppress(UnicodeDecodeError):  # only text fits there
                found.append((name, (value or b"").decode()))
        properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
        if found:
            properties.UserProperty = found
        return properties

    def _await_fewer_than(self, count: int) -> None:
        deadline = time.monotonic() + ANSWER_S
        while len(self._in_flight) >= count:
            before = len(self._in_flight)
            self._connection.turn(0.2)
            if self._busy:
                raise Unavailable(f"MQTT broker {self._connection.broker.shown} does not take it: {self._busy}")
            if len(self._in_flight) < before:
                deadline = time.monotonic() + ANSWER_S
            elif time.monotonic() > deadline:
                shown = self._connection.broker.shown
                raise Unavailable(f"MQTT broker {shown} has not acknowledged {before} messages in {ANSWER_S:.0f} s")

    def _on_publish(
        self, client: Client, data: object, number: int, reason: ReasonCode, properties: Properties | None
    ) -> None:
        record = self._in_flight.pop(number, None)
        if record is None or not reason.is_failure:
            return
        if reason.value in _REFUSALS:
            self._rejected.append(Rejected(record, f"the MQTT broker refuses it: {reason}"))
        else:
            self._busy = str(reason)

    def close(self) -> None:
        self._connection.close()


def _packed(properties: Properties | None) -> int:
    return len(properties.pack()) if properties is not None else 0  # type: ignore[no-untyped-call]
