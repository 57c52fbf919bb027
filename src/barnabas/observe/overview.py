"""A cluster at a moment, from two scrapes of its nodes: rates, the busiest topics, the groups furthest behind, and what
is wrong now. Pure."""

from collections.abc import Mapping
from typing import NamedTuple

from barnabas.observe.samples import Metrics

_TOPICS = "kafka_server_brokertopicmetrics_"
_DISK_SOON_SECONDS = 24 * 3600
_DISK_LOW_SHARE = 0.05


class Scrape(NamedTuple):
    """`metrics`: of the nodes that answered; `failed`: why the others did not."""

    at: float  # seconds of a clock that does not jump
    metrics: Mapping[int, Metrics]
    failed: Mapping[int, str] = {}


class NodeRow(NamedTuple):
    node: int
    up: bool
    why: str
    bytes_in: float  # these are rates, a second
    bytes_out: float
    messages_in: float
    requests: float
    p99_ms: float | None  # of Produce; other requests wait by intent, or are too few for a percentile
    loop_stalls: int
    memory_bytes: int
    cpu_percent: float
    connections: int


class TopicRow(NamedTuple):
    topic: str
    messages_in: float
    bytes_in: float
    bytes_out: float
    log_bytes: int


class GroupRow(NamedTuple):
    group: str
    topic: str
    lag: int | None
    seconds: float | None
    members: int


class Overview(NamedTuple):
    nodes: list[NodeRow]
    topics: list[TopicRow]  # the busiest first
    groups: list[GroupRow]  # the furthest behind first
    problems: list[str]


def overview(before: Scrape, now: Scrape) -> Overview:
    seconds = max(now.at - before.at, 1e-9)
    nodes = [_node(number, before, now, seconds) for number in sorted({*now.metrics, *now.failed})]
    return Overview(nodes, _topics(before, now, seconds), _groups(now), _problems(before, now))


def _rate(name: str, node: int, before: Scrape, now: Scrape, seconds: float, **labels: str) -> float:
    """A counter that went back began anew: its node was restarted."""
    old, new = before.metrics.get(node), now.metrics[node]
    value = new.value(name, **labels) or 0.0
    past = (old.value(name, **labels) or 0.0) if old is not None else value
    return max(value - past if value >= past else value, 0.0) / seconds


def _node(number: int, before: Scrape, now: Scrape, seconds: float) -> NodeRow:
    found = now.metrics.get(number)
    if found is None:
        return NodeRow(number, False, now.failed.get(number, ""), 0.0, 0.0, 0.0, 0.0, None, 0, 0, 0.0, 0)
    requests, old = "kafka_network_requestmetrics_requests_total", before.metrics.get(number)
    counted = found.total(requests) - (old.total(requests) if old is not None else found.total(requests))
    return NodeRow(
        number,
        True,
        "" if found.value("barnabas_ready") else "not ready",
        _rate(f"{_TOPICS}bytesin_total", number, before, now, seconds),
        _rate(f"{_TOPICS}bytesout_total", number, before, now, seconds),
        _rate(f"{_TOPICS}messagesin_total", number, before, now, seconds),
        max(counted, 0.0) / seconds,
        found.value("kafka_network_requestmetrics_totaltimems", request="Produce", quantile="0.99"),
        int(found.value("barnabas_loop_stalls_total") or 0),
        int(found.value("process_resident_memory_bytes") or 0),
        100 * _rate("process_cpu_seconds_total", number, before, now, seconds),
        int(found.total("kafka_server_socket_server_metrics_connection_count")),
    )


def _by_topic(name: str, scrape: Scrape) -> dict[tuple[int, str], float]:
    return {
        (node, labels["topic"]): value
        for node, metrics in scrape.metrics.items()
        for labels, value in metrics.rows(name)
        if "topic" in labels
    }


def _topics(before: Scrape, now: Scrape, seconds: float) -> list[TopicRow]:
    rates: dict[str, list[float]] = {}
    for place, name in enumerate(("messagesin", "bytesin", "bytesout")):
        old = _by_topic(f"{_TOPICS}{name}_total", before)
        for key, value in _by_topic(f"{_TOPICS}{name}_total", now).items():
            past = old.get(key, value if key[0] not in before.metrics else 0.0)
            grown = value - past if value >= past else value
            rates.setdefault(key[1], [0.0, 0.0, 0.0])[place] += grown / seconds
    sizes: dict[str, int] = {}
    for (_, topic), size in _by_topic("barnabas_topic_log_bytes", now).items():
        sizes[topic] = sizes.get(topic, 0) + int(size)
    rows = [
        TopicRow(topic, messages, bytes_in, bytes_out, sizes.get(topic, 0))
        for topic, (messages, bytes_in, bytes_out) in rates.items()
    ]
    return sorted(rows, key=lambda row: (-row.bytes_in - row.bytes_out, -row.log_bytes, row.topic))


def _groups(now: Scrape) -> list[GroupRow]:
    found: dict[tuple[str, str], GroupRow] = {}
    for metrics in now.metrics.values():
        members = {each["consumergroup"]: int(value) for each, value in metrics.rows("kafka_consumergroup_members")}
        lags = {_group(each): int(value) for each, value in metrics.rows("kafka_consumergroup_lag_sum")}
        ages = {_group(each): value for each, value in metrics.rows("kafka_consumergroup_lag_seconds")}
        for each, _ in metrics.rows("kafka_consumergroup_current_offset_sum"):
            key = _group(each)
            found[key] = GroupRow(*key, lags.get(key), ages.get(key), members.get(key[0], 0))
    return sorted(found.values(), key=lambda row: (-(row.seconds or 0.0), -(row.lag or 0), row.group, row.topic))


def _group(labels: Mapping[str, str]) -> tuple[str, str]:
    return labels["consumergroup"], labels["topic"]


def _problems(before: Scrape, now: Scrape) -> list[str]:
    found = [f"node {node} does not answer: {why}" for node, why in sorted(now.failed.items())]
    metrics = now.metrics
    active = sum(each.value("kafka_controller_kafkacontroller_activecontrollercount") or 0 for each in metrics.values())
    if metrics and not now.failed and not active:
        found.append("no node is the active controller")
    for name, words in (
        ("kafka_controller_kafkacontroller_offlinepartitionscount", "partitions have no leader"),
        (
            "kafka_server_replicamanager_underminisrpartitioncount",
            "partitions refuse acks=all: too few replicas in sync",
        ),
        ("kafka_server_replicamanager_underreplicatedpartitions", "partitions lack an in-sync replica"),
        ("kafka_server_replicamanager_offlinereplicacount", "replicas cannot be opened or have lost records"),
    ):
        if count := int(sum(each.value(name) or 0 for each in metrics.values())):
            found.append(f"{count} {words}")
    for node, each in sorted(metrics.items()):
        found += _problems_of(node, before.metrics.get(node), each)
    return found


def _problems_of(node: int, before: Metrics | None, now: Metrics) -> list[str]:
    found = []
    if not now.value("barnabas_ready"):
        found.append(f"node {node} is not ready")
    free, total = now.value("barnabas_disk_free_bytes"), now.value("barnabas_disk_total_bytes")
    full_in = now.value("barnabas_disk_full_in_seconds")
    if free is not None and total and free < total * _DISK_LOW_SHARE:
        found.append(f"node {node}: {100 * free / total:.1f} % of its disk are free")
    if full_in is not None and full_in < _DISK_SOON_SECONDS:
        found.append(f"node {node}: its disk is full in {full_in / 3600:.1f} h at this rate")
    for labels, count in now.rows("barnabas_problems"):
        found.append(f"node {node}: {labels['what']} fails ({int(count)}); barnabas doctor on it says why")
    name = "barnabas_loop_stalls_total"
    stalls = (now.value(name) or 0) - (before.value(name) or 0) if before is not None else 0
    if stalls > 0:
        found.append(f"node {node}: something held its loop {int(stalls)} times just now")
    return found
