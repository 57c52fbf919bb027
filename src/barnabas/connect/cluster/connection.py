"""librdkafka's consumers, producers and admins with the settings of a cluster: the client profile, and our own."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from barnabas.client.common.connection import CONNECT_TIMEOUT_S, Troubles, ensure_reachable, librdkafka_settings
from barnabas.client.common.connection import open_handle as _open_handle
from barnabas.client.errors import BarnabasError, CannotReach, translate
from barnabas.connect.errors import BadOption, Unavailable
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.sink.cluster import Cluster as Links
from barnabas.pipelines.sink.options import COMPRESSIONS, SinkOptions
from barnabas.pipelines.source.security import ONLY_LIBRDKAFKA

log = logging.getLogger("barnabas.connect")
_WAIT_S = 30.0
_CLIENT_ID = "barnabas-connect"
_TRANSACTION_MS = 60_000  # of a source; open that long, it is aborted
_BUFFER_BYTES = 4 * 1024 * 1024  # compressed, of a producer that waits for leaders
_SECURITY = ("ssl.", "sasl.", "security.", "enable.ssl", "https.")
_QUIET = {
    "log_level": 2,
    "enable.metrics.push": False,
}  # librdkafka would say every connection that is refused; tasks say what they wait for

Result = TypeVar("Result")
Handle = TypeVar("Handle")


class Cluster:
    def __init__(self, bootstrap: str, settings: Mapping[str, object] | None = None) -> None:
        self.bootstrap = bootstrap
        self._settings = dict(settings or {})
        self._admin: AdminClient | None = None

    def producer(self, **ours: object) -> Producer:
        """Settings by librdkafka's names with _ for the dot."""
        return self._open(Producer, {"acks": "all", "enable.idempotence": True}, ours)

    def consumer(self, **ours: object) -> Consumer:
        return self._open(Consumer, {"enable.auto.commit": False, "isolation.level": "read_committed"}, ours)

    def admin(self) -> AdminClient:
        """One for all threads: a new one would have to connect first."""
        if self._admin is None:
            self._admin = self._open(AdminClient, {}, {})
        return self._admin

    def links(self, patience_s: float = _WAIT_S) -> Links:
        """Connections of our own client, for the producers of sources. Raises BadOption."""
        settings = librdkafka_settings(self.bootstrap, {}, self._settings, {})
        security = {name: str(value) for name, value in settings.items() if name.startswith(_SECURITY)}
        if unusable := sorted(ONLY_LIBRDKAFKA & set(security)):
            way_out = "Set ssl.certificate.location and ssl.key.location"
            raise BadOption(f"{unusable[0]}: sources log in with a certificate and a key in files of PEM", way_out)
        options = SinkOptions(
            bootstrap=self.bootstrap,
            security=tuple(sorted(security.items())),
            exactly_once=True,
            compression=COMPRESSIONS["lz4"],
            buffer_bytes=_BUFFER_BYTES,
            delivery_timeout_s=patience_s,
            transaction_timeout_ms=_TRANSACTION_MS,
            client_id=_CLIENT_ID,
            delivery_timeout_name="",
        )
        try:
            return Links(options)
        except PipelineError as problem:
            raise BadOption(str(problem).removeprefix("kafka.")) from None

    def _open(self, kind: Callable[..., Handle], base: dict[str, object], ours: Mapping[str, object]) -> Handle:
        common = {"client.id": _CLIENT_ID, **_QUIET, **base}
        settings = librdkafka_settings(self.bootstrap, common, self._settings, ours)
        try:
            made: Handle = _open_handle(kind, settings, "connect")
            return made
        except BarnabasError as error:
            raise BadOption(str(error)) from None

    def check(self, timeout_s: float = CONNECT_TIMEOUT_S) -> None:
        """Raises Unavailable with the reason when nobody answers."""
        troubles = Troubles()
        settings = librdkafka_settings(self.bootstrap, {"error_cb": troubles, **_QUIET}, self._settings, {})
        handle = _open_handle(AdminClient, settings, "connect")
        try:
            ensure_reachable(handle, self.bootstrap, timeout_s, troubles, settings)
        except CannotReach as error:
            raise Unavailable(str(error)) from None

    def ensure_topics(self, wanted: Iterable[NewTopic]) -> None:
        """Makes those that are missing, and returns when they can be used."""
        admin = self.admin()
        known = called(lambda: admin.list_topics(timeout=_WAIT_S)).topics
        missing = [each for each in wanted if each.topic not in known]
        if not missing:
            return
        for topic, future in admin.create_topics(missing, request_timeout=_WAIT_S).items():
            try:
                future.result(_WAIT_S)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise Unavailable(f"topic {topic} cannot be made: {error.args[0].str()}") from None
        _until_led(admin, [each.topic for each in missing])

    def partitions_of(self, topic: str) -> list[int]:
        """Empty when there is no such topic. All are asked for: librdkafka has one that is named made by asking, where
        the cluster does that, and it would not be compacted, or have the right number of partitions."""
        found = called(lambda: self.admin().list_topics(timeout=_WAIT_S)).topics.get(topic)
        return sorted(found.partitions) if found is not None and found.error is None else []


def _until_led(admin: AdminClient, topics: list[str]) -> None:
    deadline = time.monotonic() + _WAIT_S
    while True:
        known = called(lambda: admin.list_topics(timeout=_WAIT_S)).topics
        ready = [
            name
            for name in topics
            if name in known and known[name].partitions and all(p.leader >= 0 for p in known[name].partitions.values())
        ]
        if len(ready) == len(topics):
            return
        if time.monotonic() > deadline:
            raise Unavailable(f"topic {next(name for name in topics if name not in ready)} has no leader")
        time.sleep(0.05)


def called(work: Callable[[], Result]) -> Result:
    """librdkafka's errors as ours."""
    try:
        return work()
    except KafkaException as error:
        raise Unavailable(str(translate(error, "the cluster"))) from None


def new_topic(name: str, partitions: int, **config: str) -> NewTopic:
    """With as many replicas as the cluster makes by default; partitions 0: as many as that, too."""
    settings = {word.replace("_", "."): value for word, value in config.items()}
    return NewTopic(name, num_partitions=partitions or -1, replication_factor=-1, config=settings)
