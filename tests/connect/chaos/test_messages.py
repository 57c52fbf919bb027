"""Brokers of messages and services: worker, node and the other side killed ten times each under load."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest
import stomp
from paho.mqtt.client import Client as MqttClient
from paho.mqtt.client import MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from tests.connect.chaos.kills import ROUNDS, through_a_sink, through_a_source
from tests.support.artemis import PASSWORD, USER, Artemis
from tests.support.figures import Figure
from tests.support.members import until
from tests.support.mosquitto import Mosquitto
from tests.support.nginx import nginx
from tests.support.process import ServerProcess, free_port

AT_ONCE = 20
pytestmark = pytest.mark.long


class StompClient(stomp.ConnectionListener):  # type: ignore[misc]  # stomp.py has no types
    """What others send and receive, over a broker that is killed: connects again when it has to."""

    def __init__(self, broker: Artemis, queue: str = "") -> None:
        """With a queue, it receives all of it."""
        self._broker, self._queue = broker, queue
        self._connection: stomp.Connection12 | None = None
        self._receipts: set[str] = set()
        self._arrived = threading.Condition()
        self.received: dict[str, int] = {}  # by the id of the message, which is the same when it is delivered again

    def connected(self) -> stomp.Connection12:
        if self._connection is None or not self._connection.is_connected():
            connection = stomp.Connection12([("127.0.0.1", self._broker.port)], reconnect_attempts_max=1)
            connection.set_listener("", self)
            connection.connect(USER, PASSWORD, wait=True)
            if self._queue:
                # Else the broker sends 10 kB, and waits for the acknowledgements.
                headers = {"subscription-type": "ANYCAST", "consumer-window-size": str(8 << 20)}
                connection.subscribe(self._queue, id="1", ack="client-individual", headers=headers)
            self._connection = connection
        return self._connection

    def on_receipt(self, frame: stomp.utils.Frame) -> None:
        with self._arrived:
            self._receipts.add(frame.headers["receipt-id"])
            self._arrived.notify_all()

    def on_message(self, frame: stomp.utils.Frame) -> None:
        message = frame.headers["message-id"].rpartition(",")[2]  # the number of the consumer stands before it
        self.received[message] = json.loads(frame.body)["n"]
        with contextlib.suppress(stomp.exception.StompException, OSError):
            self.connected().ack(frame.headers["ack"])

    def send(self, queue: str, first: int) -> None:
        """So many numbers; returns when the broker has them, each once by its id."""
        connection = self.connected()
        for number in range(first, first + AT_ONCE):
            headers = {"destination-type": "ANYCAST", "persistent": "true", "_AMQ_DUPL_ID": str(number)}
            if number == first + AT_ONCE - 1:
                headers["receipt"] = str(number)
            connection.send(queue, json.dumps({"n": number}), headers=headers)
        with self._arrived:
            if not self._arrived.wait_for(lambda: str(first + AT_ONCE - 1) in self._receipts, 5):
                raise stomp.exception.StompException("no receipt")

    def close(self) -> None:
        with contextlib.suppress(stomp.exception.StompException, OSError):
            if self._connection is not None:
                self._connection.disconnect()


class Repeating(threading.Thread):
    """Does something again and again, over failures of `failures`, until it is stopped."""

    def __init__(self, what: object, failures: tuple[type[Exception], ...], pause_s: float) -> None:
        super().__init__(daemon=True)
        self._what, self._failures, self._pause_s = what, failures, pause_s
        self.ending = threading.Event()
        self.made = 0

    def run(self) -> None:
        assert callable(self._what)
        while not self.ending.wait(self._pause_s):
            try:
                self._what(self.made + 1)
                self.made += AT_ONCE
            except self._failures:
                self.ending.wait(0.1)

    def stop(self) -> int:
        self.ending.set()
        self.join()
        return self.made


def test_jms_source(tmp_path: Path, figure: Figure) -> None:
    broker = Artemis(tmp_path / "artemis")
    client = StompClient(broker)
    sending = Repeating(lambda first: client.send("numbers", first), (stomp.exception.StompException, OSError), 0.02)
    definition = f"""
name: queue
from: {{jms: {{url: "{broker.url}", username: {USER}, password: "{PASSWORD}", queues: [numbers]}}}}
to: {{topic: numbers, partitions: 3}}
"""
    try:
        broker.start()
        count = through_a_source(tmp_path, definition, broker, sending.start, sending.stop, ROUNDS)
        figure("connect-kills", jms_source=count)
    finally:
        sending.ending.set()
        client.close()
        broker.stop()


def test_jms_sink(tmp_path: Path, figure: Figure) -> None:
    broker = Artemis(tmp_path / "artemis")
    client = StompClient(broker, "numbers")
    watching = Repeating(lambda _: client.connected(), (stomp.exception.StompException, OSError), 0.2)
    definition = f"""
name: queue
from: {{topics: [numbers], format: json}}
to: {{jms: {{url: "{broker.url}", username: {USER}, password: "{PASSWORD}", queue: numbers}}}}
"""
    try:
        broker.start()
        watching.start()
        count = through_a_sink(tmp_path, definition, broker, lambda: list(client.received.values()), ROUNDS)
        figure("connect-kills", jms_sink=count)
    finally:
        watching.stop()
        client.close()
        broker.stop()


class SavedMosquitto(Mosquitto):
    """A broker that has on disk what it has confirmed, as the guarantee asks for: mosquitto itself writes every half
    hour, so it is told to before it is killed, while whoever sends to it stands still."""

    def __init__(self, folder: Path, users: Mapping[str, str] | None = None) -> None:
        super().__init__(folder, users)
        self.quiet = threading.Lock()
        self.sender: ServerProcess | None = None

    def tell(self, worker: ServerProcess) -> None:
        self.sender = worker

    def start(self, timeout_seconds: float = 60) -> float:
        """Until it answers: it listens before it knows SIGUSR1, which would end it."""
        took = super().start(timeout_seconds)
        with socket.create_connection(("127.0.0.1", self.port), 60) as client:
            client.sendall(b"\x10\x0f\x00\x04MQTT\x04\x02\x00\x3c\x00\x03chk")
            assert client.recv(4)[:1] == b"\x20", self.tail()
        return took

    def kill(self) -> None:
        if not self.alive():
            return
        with self.quiet:
            if self.sender is not None:
                self.sender.signal(signal.SIGSTOP)
            try:
                self.save()
                self.save()  # with what was in its sockets at the first
                super().kill()
            finally:
                if self.sender is not None:
                    self.sender.signal(signal.SIGCONT)


class MqttPeer:
    """A sensor or a device: paho, with a session that the broker keeps."""

    def __init__(self, broker: SavedMosquitto, name: str, topic: str = "", password: str = "") -> None:
        self._broker, self._topic = broker, topic
        self.received: list[int] = []
        self.client = MqttClient(CallbackAPIVersion.VERSION2, client_id=name, clean_session=False)
        self.client.reconnect_delay_set(1, 1)
        if password:
            self.client.username_pw_set(name, password)
        self.client.on_message = self._on_message
        self.client.on_publish = self._on_publish
        self._confirmed: set[int] = set()
        self.client.connect("127.0.0.1", broker.port)
        if topic:
            self.client.subscribe(topic, qos=1)
        self.client.loop_start()

    def _on_message(self, client: MqttClient, data: object, message: MQTTMessage) -> None:
        self.received.append(json.loads(message.payload)["n"])

    def _on_publish(
        self, client: MqttClient, data: object, number: int, reason: ReasonCode, properties: Properties
    ) -> None:
        self._confirmed.add(number)

    def publish(self, first: int) -> None:
        """Until the broker has confirmed them; those in doubt, and those without a connection, are sent by paho."""
        with self._broker.quiet:
            self._confirmed.clear()
            sent = {
                self.client.publish(f"sensors/{number % 3}", json.dumps({"n": number}), qos=1).mid
                for number in range(first, first + AT_ONCE)
            }
            until(lambda: sent <= self._confirmed, "the broker to confirm", 60)

    def close(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()


def test_mqtt_source(tmp_path: Path, figure: Figure) -> None:
    """At least once: what a worker has not acknowledged comes again."""
    broker = SavedMosquitto(tmp_path / "mosquitto")
    definition = f"""
name: sensors
from: {{mqtt: {{url: "{broker.url}", topics: ["sensors/#"]}}}}
to: {{topic: numbers, partitions: 3}}
"""
    try:
        broker.start()
        subscribed = MqttPeer(broker, "barnabas-sensors", "sensors/#")  # as by a connector that was stopped
        until(subscribed.client.is_connected, "a session")
        subscribed.close()
        peer = MqttPeer(broker, "sensor")
        sending = Repeating(peer.publish, (), 0.02)
        try:
            count = through_a_source(tmp_path, definition, broker, sending.start, sending.stop, ROUNDS, once=False)
            figure("connect-kills", mqtt_source=count)
        finally:
            sending.ending.set()
            peer.close()
    finally:
        broker.stop()


def test_mqtt_sink(tmp_path: Path, figure: Figure) -> None:
    """At least once: a batch that was not confirmed is sent again."""
    broker = SavedMosquitto(tmp_path / "mosquitto")
    definition = f"""
name: devices
from: {{topics: [numbers], format: json}}
to: {{mqtt: {{url: "{broker.url}", topic: "devices/set"}}}}
"""
    try:
        broker.start()
        peer = MqttPeer(broker, "device", "devices/#")
        try:
            count = through_a_sink(
                tmp_path, definition, broker, lambda: list(peer.received), ROUNDS, once=False, tell=broker.tell
            )
            figure("connect-kills", mqtt_sink=count)
        finally:
            peer.close()
    finally:
        broker.stop()


def test_http_sink(tmp_path: Path, figure: Figure) -> None:
    """Into nginx, which keeps a file for each number: sent again, it is the same file."""
    port, folder = free_port(), tmp_path / "nginx"
    (folder / "numbers").mkdir(parents=True)
    server = nginx(folder, port, f"root {folder}; dav_methods PUT; create_full_put_path on;")
    definition = f"""
name: web
from: {{topics: [numbers], format: json}}
to: {{http: {{url: "http://127.0.0.1:{port}/numbers/{{key}}", method: PUT, parallel: 8}}}}
"""

    def found() -> list[int]:
        return [int(each.name) for each in (folder / "numbers").iterdir()]

    try:
        server.start()
        # A request for each record: on a busy machine less than what comes.
        count = through_a_sink(tmp_path, definition, server, found, ROUNDS, drained_s=600)
        until(lambda: all(json.loads((folder / "numbers" / str(n)).read_text())["n"] == n for n in found()), "whole")
        figure("connect-kills", http_sink=count)
    finally:
        server.stop()
