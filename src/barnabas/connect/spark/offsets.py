"""Where partitions begin and end, asked in bulk, since the driver reads no records itself."""

from __future__ import annotations

import concurrent.futures
import time
from collections.abc import Mapping, Sequence

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from barnabas.client.admin.rdkafka import OffsetSpec
from barnabas.connect.cluster.connection import Cluster
from barnabas.connect.errors import Unavailable
from barnabas.connect.runtime.handing_out import Place

_WAIT_S = 30.0
_LOOK_WAIT_S = 5.0
_COMMITTED_WAIT_S = 2.0


class Ends:
    """The ends as a reader of committed records sees them. A cluster that does not answer is waited for: what was
    known stays."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._admin: AdminClient | None = None
        self.problem = ""

    def of(self, places: Sequence[Place]) -> dict[Place, int]:
        if not places:
            return {}
        if self._admin is None:
            self._admin = self._cluster.admin()
        try:
            found = _asked(self._admin, dict.fromkeys(places, OffsetSpec.latest()), _LOOK_WAIT_S)
        except Unavailable as problem:
            self.problem = str(problem)
            return {}
        self.problem = ""
        return {place: end for place, end in found.items() if end >= 0}


def begins_of(cluster: Cluster, consumer: Consumer, places: Sequence[TopicPartition], start: str) -> dict[Place, int]:
    """What the group has committed, or where a connector starts that has committed nothing."""
    found = {(each.topic, each.partition): each.offset for each in _committed(consumer, list(places))}
    new = [place for place, offset in found.items() if offset < 0]
    spec = OffsetSpec.earliest() if start == "earliest" else OffsetSpec.latest()
    found |= _asked(cluster.admin(), dict.fromkeys(new, spec), _WAIT_S) if new else {}
    if away := [place for place, offset in found.items() if offset < 0]:
        raise Unavailable(f"nobody leads {away[0][0]}-{away[0][1]}")
    return found


def _committed(consumer: Consumer, places: list[TopicPartition]) -> list[TopicPartition]:
    """In short waits: while librdkafka looks for the coordinator, it answers none of those that have begun."""
    deadline = time.monotonic() + _WAIT_S
    while places:
        try:
            return consumer.committed(places, timeout=_COMMITTED_WAIT_S)
        except KafkaException as error:
            if not error.args[0].retriable() and error.args[0].code() != KafkaError._TIMED_OUT:
                raise Unavailable(f"the group's offsets cannot be read: {error.args[0].str()}") from None
            if time.monotonic() > deadline:
                raise Unavailable(f"the group's offsets cannot be read: no answer in {_WAIT_S:.0f} s") from None
    return []


def _asked(admin: AdminClient, wanted: Mapping[Place, OffsetSpec], wait_s: float) -> dict[Place, int]:
    request = {TopicPartition(*place): spec for place, spec in wanted.items()}
    answers = admin.list_offsets(request, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=wait_s)
    try:
        found = {(each.topic, each.partition): future.result(wait_s + 1) for each, future in answers.items()}
    except KafkaException as error:
        raise Unavailable(f"where {next(iter(wanted))[0]} ends is not known: {error.args[0].str()}") from None
    except concurrent.futures.TimeoutError:
        raise Unavailable(f"where {next(iter(wanted))[0]} ends is not known: no answer in {wait_s:.0f} s") from None
    return {place: each.offset for place, each in found.items()}
