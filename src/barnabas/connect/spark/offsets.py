"""Where partitions begin and end, asked in bulk, since the driver reads no records itself."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Mapping, Sequence

from confluent_kafka import Consumer, IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from barnabas.client.admin.rdkafka import OffsetSpec
from barnabas.connect.cluster.connection import Cluster, called
from barnabas.connect.errors import Unavailable
from barnabas.connect.runtime.handing_out import Place

_WAIT_S = 30.0
_LOOK_WAIT_S = 5.0


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
    committed = called(lambda: consumer.committed(list(places), timeout=_WAIT_S))
    found = {(each.topic, each.partition): each.offset for each in committed}
    new = [place for place, offset in found.items() if offset < 0]
    spec = OffsetSpec.earliest() if start == "earliest" else OffsetSpec.latest()
    found |= _asked(cluster.admin(), dict.fromkeys(new, spec), _WAIT_S) if new else {}
    if away := [place for place, offset in found.items() if offset < 0]:
        raise Unavailable(f"nobody leads {away[0][0]}-{away[0][1]}")
    return found


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
