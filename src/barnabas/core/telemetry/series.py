"""A client's metrics as Prometheus names them, made from what it pushed.

`org.apache.kafka.producer.record.send.total` becomes `kafka_client_producer_record_send_total`; a metric that an
application has registered itself, `com.example.x`, becomes `kafka_client_com_example_x`. The labels are the client's id
and instance id, what its points have in common and is of use to find it (its group, its transactional id), and the
attributes of the point (topic, partition, node_id). What a client says cannot take the place of what the node knows.
"""

import re
from typing import NamedTuple

from barnabas.model.limits import TELEMETRY_LABELS_MAX
from barnabas.wire.otlp import Attributes, Kind, Metrics

PREFIX = "kafka_client_"
_KAFKA = "org.apache.kafka."
_NO_NAME = re.compile(r"[^a-zA-Z0-9_]+")
_COUNTED = "_total"
_OF_THE_NODE = frozenset({"client_id", "client_instance_id"})
_OF_THE_CLIENT = frozenset({"group_id", "group_instance_id", "transactional_id", "client_rack"})

Labels = tuple[tuple[str, str], ...]


class Sample(NamedTuple):
    kind: Kind
    value: float


class Pushed(NamedTuple):
    """One push, ready to be kept."""

    series: dict[str, dict[Labels, Sample]]  # by name
    series_count: int
    text_bytes: int  # about: the names and labels
    dropped: int


def series_of(metrics: Metrics) -> Pushed:
    common = tuple((key, value) for key, value in metrics.resource if key in _OF_THE_CLIENT)
    series: dict[str, dict[Labels, Sample]] = {}
    names: dict[str, str] = {}
    count = text_bytes = 0
    for point in metrics.points:
        name = names.get(point.name)
        if name is None:
            name = names[point.name] = metric_name(point.name)
        if point.kind is not Kind.GAUGE and not name.endswith(_COUNTED):
            name += _COUNTED
        labels = _labels(point.attributes, common)
        samples = series.setdefault(name, {})
        if labels not in samples:
            count += 1
            text_bytes += len(name) + sum(len(key) + len(value) for key, value in labels)
        samples[labels] = Sample(point.kind, point.value)
    return Pushed(series, count, text_bytes, metrics.dropped)


def metric_name(name: str) -> str:
    return PREFIX + (_NO_NAME.sub("_", name.removeprefix(_KAFKA)).strip("_") or "unnamed")


def _labels(attributes: Attributes, common: Attributes) -> Labels:
    found: dict[str, str] = {}
    for key, value in (*common, *attributes):
        name = _NO_NAME.sub("_", key).strip("_")
        if name and not name[0].isdecimal() and name not in _OF_THE_NODE and len(found) < TELEMETRY_LABELS_MAX:
            found[name] = value
    return tuple(sorted(found.items()))
