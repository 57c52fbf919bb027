"""The replicas of this node: how many, how many lack something, how far followers are behind; and, when asked for, a
series for every partition."""

from collections.abc import Callable, Iterator

from barnabas.broker.metrics.exposition import OTHER, Sample, escaped, family, head, labels, largest, single
from barnabas.broker.partition.opened import OpenPartition
from barnabas.broker.partition.partition import HostedPartition
from barnabas.broker.partition.table import PartitionTable
from barnabas.broker.replication.driver import Replication
from barnabas.core.cluster.image import MetadataImage
from barnabas.model.limits import METRICS_TOPICS_MAX

_AT_ONCE = 100  # partitions between two looks at the clock

Row = tuple[str, HostedPartition]  # with the end of its line: {topic="t",partition="0"}


class Lag:
    """Of one follower, over the partitions led here."""

    __slots__ = ("bytes", "records", "seconds")

    def __init__(self) -> None:
        self.records = 0
        self.bytes = self.seconds = 0.0


def collect(table: PartitionTable, replication: Replication, *, every: bool) -> Iterator[str]:
    """`every`: with the series of partitions."""
    rows: list[Row] = []
    last = begin = ""
    sizes: dict[str, int] = {}
    lags: dict[int, Lag] = {}
    count = led = under = under_min = 0
    offline = len(table.unusable)
    now_ms = replication.steady_ms()
    for partition in list(table):
        if not count % _AT_ONCE:
            yield ""
        count += 1
        topic, index = partition.id
        opened = partition.opened
        if opened is not None:
            sizes[topic] = sizes.get(topic, 0) + opened.log.size_bytes
        if partition.lost:
            offline += 1
        if every:
            if topic is not last:
                last, begin = topic, f'{{topic="{escaped(topic)}",partition="'
            rows.append((f'{begin}{index}"}} ', partition))
        if not partition.is_leader:
            continue
        led += 1
        partition.count_messages()
        under += len(partition.image.isr) < len(partition.image.replicas)
        under_min += partition.leadership.under_min_isr
        if partition.leadership.state is not None and opened is not None:
            _add_lags(lags, opened, replication, now_ms)
    manager = "kafka_server_replicamanager_"
    values = {"partitioncount": count, "leadercount": led, "underreplicatedpartitions": under}
    values |= {"underminisrpartitioncount": under_min, "offlinereplicacount": offline}
    values |= {"isrshrinks_total": table.counts.isr_shrinks, "isrexpands_total": table.counts.isr_expands}
    yield "".join([single(manager + name, value) for name, value in values.items()])
    yield _replication_lag(lags)
    shown, summed = largest(list(sizes.items()), METRICS_TOPICS_MAX)
    samples = [(labels(topic=name), size) for name, size in sizes.items() if name in shown]
    if summed:
        samples.append((labels(topic=OTHER), sum(size for name, size in sizes.items() if name not in shown)))
    yield family("barnabas_topic_log_bytes", samples)
    yield from _each(rows) if every else ()


def partition_counts(table: PartitionTable, image: MetadataImage) -> Iterator[str]:
    """Each topic once in a cluster: told by the leader of its first partition."""
    samples: list[Sample] = []
    for position, partition in enumerate(list(table.led())):
        if not position % _AT_ONCE:
            yield ""
        topic = image.topics.get(partition.id.topic) if partition.id.partition == 0 else None
        if topic is not None and len(samples) < METRICS_TOPICS_MAX:
            samples.append((labels(topic=topic.name), len(topic.partitions)))
    yield family("kafka_topic_partitions", samples)


def _add_lags(lags: dict[int, Lag], opened: OpenPartition, replication: Replication, now_ms: int) -> None:
    state, own = opened.partition.leadership.state, opened.log
    assert state is not None
    end = own.log_end_offset
    for broker, follower in state.followers.items():
        lag = lags.get(broker)
        if lag is None:
            lag = lags[broker] = Lag()
        records = end - max(follower.offset, own.log_start_offset)
        if records > 0:
            lag.records += records
            lag.bytes += records * own.size_bytes / max(end - own.log_start_offset, 1)
            behind_ms = now_ms - follower.caught_up(replication.last_fetches.get(broker, 0))
            if behind_ms < 1 << 60:  # it has been caught up at some time
                lag.seconds = max(lag.seconds, behind_ms / 1000)


def _replication_lag(lags: dict[int, Lag]) -> str:
    by_follower = [(labels(follower=str(broker)), lag) for broker, lag in sorted(lags.items())]
    return (
        family("barnabas_replication_lag_records", [(text, lag.records) for text, lag in by_follower])
        + family("barnabas_replication_lag_bytes", [(text, round(lag.bytes)) for text, lag in by_follower])
        + family("barnabas_replication_lag_seconds", [(text, lag.seconds) for text, lag in by_follower])
    )


# --- every partition --------------------------------------------------------------------------------------------------


def _each(rows: list[Row]) -> Iterator[str]:
    led = [row for row in rows if row[1].is_leader]
    yield from _lines("kafka_topic_partition_current_offset", led, _high_watermark)
    yield from _lines("kafka_topic_partition_oldest_offset", led, _log_start)
    yield from _lines("kafka_topic_partition_in_sync_replica", led, lambda each: len(each.image.isr))
    yield from _lines("kafka_topic_partition_leader", led, lambda each: each.image.leader)
    yield from _lines("kafka_topic_partition_under_replicated_partition", led, _is_under_replicated)
    yield from _lines("kafka_log_log_size", rows, _size)


def _lines(name: str, rows: list[Row], value: Callable[[HostedPartition], int | None]) -> Iterator[str]:
    if rows:
        yield head(name)
    for at in range(0, len(rows), _AT_ONCE):
        part = [(text, value(partition)) for text, partition in rows[at : at + _AT_ONCE]]
        yield "".join([f"{name}{text}{found}\n" for text, found in part if found is not None])


def _high_watermark(partition: HostedPartition) -> int | None:
    """None of a log that nobody has opened since the start: it is not opened for this."""
    opened = partition.opened
    return (0 if partition.untouched else None) if opened is None else opened.high_watermark


def _log_start(partition: HostedPartition) -> int | None:
    opened = partition.opened
    return (0 if partition.untouched else None) if opened is None else opened.log.log_start_offset


def _size(partition: HostedPartition) -> int | None:
    opened = partition.opened
    return (0 if partition.untouched else None) if opened is None else opened.log.size_bytes


def _is_under_replicated(partition: HostedPartition) -> int:
    return int(len(partition.image.isr) < len(partition.image.replicas))
