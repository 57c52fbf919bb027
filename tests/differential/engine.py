"""Asks two servers the same and compares the answers field by field.

A scenario is a function of (pair, version) that lists its requests: `pair.call(API, version, body, "what is
asked")`. `body` is a dictionary, or a function of a `Side` where it needs what that server made up before
(`side["member"]`). Differences are collected, so that one run shows them all; a test fails at the end of its
scenario unless every one of them is in the table of deliberate ones (differences.py).
"""

from __future__ import annotations

import collections
import contextlib
import fnmatch
import itertools
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kio.index import load_response_schema
from kio.serial import entity_reader
from kio.serial.errors import OutOfBoundValue

from barnabas.wire import codec
from tests.differential.differences import DELIBERATE
from tests.differential.normalise import Names, normalise
from tests.support import kio_codec
from tests.support.wire import CREATE_TOPICS, LIST_OFFSETS, METADATA, Closed, WireClient

Body = Mapping[str, Any] | Callable[["Side"], Mapping[str, Any]]
CALL_TIMEOUT_SECONDS = 5.0


class Side:
    """One of the two servers in one scenario: its connection, and what it made up (by the names the scenario uses)."""

    def __init__(self, label: str, bootstrap: str) -> None:
        self.label, self.bootstrap = label, bootstrap
        self.source: str | None = None  # the address to connect from
        self.names = Names()
        self.saved: dict[str, Any] = {}
        self.client = WireClient(bootstrap, CALL_TIMEOUT_SECONDS)
        self.names.give(int(bootstrap.rpartition(":")[2]), "port")
        answer = self.client.call(METADATA, 1, {"topics": []})
        self.node_id = int(answer["brokers"][0]["node_id"])
        self.names.give(self.node_id, "node")

    def __getitem__(self, name: str) -> Any:
        return self.saved[name]

    def save(self, name: str, value: Any, shown: str | None = None) -> None:
        """Remember what this server made up, under a name that stands for it in both servers' answers."""
        self.saved[name] = value
        self.names.give(value, shown or name)

    def reconnect(self) -> None:
        self.client.close()
        self.client = WireClient(self.bootstrap, CALL_TIMEOUT_SECONDS, source=self.source)

    def ask(self, api_key: int, version: int, body: Mapping[str, Any] | bytes) -> Any:
        """The answer, or in words what came instead of one."""
        try:
            answer = self.client.call(api_key, version, body)
        except Closed:
            self.reconnect()
            return "connection closed"
        except TimeoutError:
            self.reconnect()
            return f"no answer in {CALL_TIMEOUT_SECONDS:.0f} s"
        except (kio_codec.Malformed, AssertionError, UnicodeDecodeError) as problem:
            self.reconnect()
            return f"unreadable answer: {problem}"
        self.other_opinions(api_key, version, body, answer)
        return answer

    def other_opinions(
        self, api_key: int, version: int, body: Mapping[str, Any] | bytes, answer: dict[str, Any]
    ) -> None:
        """Three readers must agree on every answer, of Kafka as of ours: the tests' own, kio's (in Rust) and
        barnabas.wire.codec; and two
        writers on every request."""
        data = bytes(self.client.last_answer)
        with contextlib.suppress(OutOfBoundValue):  # kio takes no time before 1970, with which Kafka says "none"
            entity, used = entity_reader(load_response_schema(api_key, version))(data, 0)
            assert entity is not None
            assert used == len(data), f"kio read {used} of {len(data)} bytes"
        read = codec.decode_response(api_key, version, data)
        for path, theirs, ours in compare(answer, plain(read, answer)):
            raise AssertionError(
                f"barnabas.wire reads {path} of {kio_codec.name(api_key)} v{version} as {ours!r}, not {theirs!r}"
            )
        if not isinstance(body, bytes):
            assert codec.encode_request(api_key, version, body) == kio_codec.encode_request(api_key, version, body)


def plain(value: Any, like: Any) -> Any:
    """What barnabas.wire.codec decoded, in the shape of a dictionary that holds the same message."""
    if isinstance(like, dict):
        return None if value is None else {key: plain(getattr(value, key), item) for key, item in like.items()}
    if isinstance(like, list) and value is not None:
        return [plain(item, like[min(i, len(like) - 1)]) for i, item in enumerate(value)] if like else list(value)
    return bytes(value) if isinstance(value, memoryview) else value


@dataclass(frozen=True)
class Difference:
    scenario: str
    question: str
    path: str
    kafka: Any
    barnabas: Any

    def __str__(self) -> str:
        return f"[{self.scenario}] {self.question}\n    {self.path}: kafka {self.kafka!r}  barnabas {self.barnabas!r}"


def compare(kafka: Any, barnabas: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    if isinstance(kafka, dict) and isinstance(barnabas, dict):
        for key in kafka.keys() | barnabas.keys():
            yield from compare(
                kafka.get(key, "<absent>"), barnabas.get(key, "<absent>"), f"{path}.{key}" if path else key
            )
    elif path.endswith(".configs") and isinstance(kafka, list) and isinstance(barnabas, list):
        # settings by name, so that one absent entry does not hide the rest
        ours, theirs = {i["name"]: i for i in barnabas}, {i["name"]: i for i in kafka}
        for name in sorted(ours.keys() | theirs.keys()):
            yield from compare(theirs.get(name, "<absent>"), ours.get(name, "<absent>"), f"{path}[{name}]")
    elif isinstance(kafka, list) and isinstance(barnabas, list) and len(kafka) == len(barnabas):
        for index, (one, other) in enumerate(zip(kafka, barnabas, strict=True)):
            yield from compare(one, other, f"{path}[{index}]")
    elif kafka != barnabas:
        yield path, kafka, barnabas


_numbers = itertools.count(int(time.time()) % 100_000 * 10_000 + 1)  # unique also on a server that was up before


class Tally:
    """Over all scenarios: how many answers were compared, of which APIs and versions."""

    def __init__(self) -> None:
        self.compared: collections.Counter[tuple[int, int]] = collections.Counter()
        self.in_words: collections.Counter[tuple[str, str]] = collections.Counter()  # questions Kafka does not answer
        self.deliberate = 0
        self.used: set[int] = set()  # rows of DELIBERATE that were needed
        self.ended: list[str] = []  # scenarios that could not go on, and why

    def summary(self) -> str:
        apis = {key for key, _ in self.compared}
        return (
            f"{sum(self.compared.values())} answers compared, {len(apis)} APIs in {len(self.compared)} versions, "
            f"{self.deliberate} deliberate differences by {len(self.used)} rules"
        )


class Pair:
    """Both servers in one scenario."""

    def __init__(self, scenario: str, kafka: str, barnabas: str, tally: Tally) -> None:
        self.scenario, self.tally = scenario, tally
        self.kafka, self.barnabas = Side("kafka", kafka), Side("barnabas", barnabas)
        self.sides = (self.kafka, self.barnabas)
        self.found: list[Difference] = []

    def close(self) -> None:
        for side in self.sides:
            side.client.close()

    def call(
        self,
        api_key: int,
        version: int,
        body: Body,
        question: str = "",
        save: Callable[[Side, Any], None] | None = None,
    ) -> tuple[Any, Any]:
        """Ask both; compare; remember differences. `save(side, answer)` keeps and names what the answer made up,
        before comparing."""
        answers = []
        for side in self.sides:
            answer = side.ask(api_key, version, body(side) if callable(body) else body)
            if save is not None and isinstance(answer, dict):
                with contextlib.suppress(KeyError, IndexError, TypeError):
                    save(side, answer)
            answers.append(answer)
        self.check(api_key, version, question, *answers)
        return answers[0], answers[1]

    def check(self, api_key: int, version: int, question: str, kafka: Any, barnabas: Any) -> None:
        self.tally.compared[api_key, version] += 1
        shown = f"{kio_codec.name(api_key)} v{version}: {question}"
        if isinstance(kafka, str):
            self.tally.in_words[kafka, question] += 1
        one, other = (normalise(api_key, a, s.names) for a, s in zip((kafka, barnabas), self.sides, strict=True))
        for path, theirs, ours in compare(one, other):
            difference = Difference(self.scenario, shown, path, theirs, ours)
            for number, known in enumerate(DELIBERATE):
                if known.covers(difference):
                    self.tally.deliberate += 1
                    self.tally.used.add(number)
                    break
            else:
                self.found.append(difference)

    def raw(self, api_key: int, version: int, payload: bytes, flexible: bool, question: str) -> None:
        """A frame no schema describes. Compared: whether an answer comes, and its first bytes after the
        correlation id."""
        outcomes = []
        for side in self.sides:
            data = side.client.header(api_key, version, flexible) + payload
            try:
                side.client.socket.sendall(struct.pack(">i", len(data)) + data)
                outcomes.append(f"answer {side.client.receive_frame()[4:6].hex()}")
            except (Closed, ConnectionError):
                outcomes.append("connection closed")
                side.reconnect()
            except TimeoutError:
                outcomes.append("no answer")
                side.reconnect()
        self.tally.compared[api_key, version] += 1
        if outcomes[0] != outcomes[1]:
            self.found.append(Difference(self.scenario, f"api {api_key} v{version}: {question}", "outcome", *outcomes))

    # --- what scenarios need before they ask

    def topic(self, name: str, partitions: int = 1, **configs: str) -> str:
        """A topic on both, led and known; its id is named. Not compared."""
        entries = [{"name": key.replace("_", "."), "value": value} for key, value in configs.items()]
        for side in self.sides:
            request = {
                "topics": [{"name": name, "num_partitions": partitions, "replication_factor": 1, "configs": entries}],
                "timeout_ms": 30000,
            }
            answer = side.client.call(CREATE_TOPICS, 7, request)["topics"][0]
            assert answer["error_code"] == 0, (side.label, answer)
            self.await_topic(side, name, partitions)
        for side in self.sides:  # Kafka leads a partition a moment after it says so
            listed = [
                {"name": name, "partitions": [{"partition_index": p, "timestamp": -1} for p in range(partitions)]}
            ]
            deadline = time.monotonic() + 15
            while any(
                p["error_code"]
                for p in side.client.call(LIST_OFFSETS, 5, {"replica_id": -1, "topics": listed})["topics"][0][
                    "partitions"
                ]
            ):
                assert time.monotonic() < deadline, side.label
                time.sleep(0.02)
        return name

    @staticmethod
    def await_topic(side: Side, name: str, partitions: int = 1) -> None:
        deadline = time.monotonic() + 15
        while True:
            asked = {"topics": [{"name": name, "topic_id": bytes(16)}], "allow_auto_topic_creation": False}
            topic = side.client.call(METADATA, 12, asked)["topics"][0]
            if (
                topic["error_code"] == 0
                and len(topic["partitions"]) >= partitions
                and all(p["error_code"] == 0 for p in topic["partitions"])
            ):
                side.save(f"id of {name}", bytes(topic["topic_id"]))
                return
            assert time.monotonic() < deadline, (side.label, topic)
            time.sleep(0.02)

    def fresh(self, base: str) -> str:
        """A name nobody has used, the same on both servers."""
        return f"{base}-{next(_numbers)}"

    def each(self, do: Callable[[Side], Any]) -> None:
        """Something done to both that is not compared."""
        for side in self.sides:
            do(side)


def matches(pattern: str, text: str) -> bool:
    return fnmatch.fnmatchcase(text, pattern)
