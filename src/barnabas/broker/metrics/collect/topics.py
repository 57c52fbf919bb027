"""The counts of topics. Beyond METRICS_TOPICS_MAX the topics with most bytes have series, the others are summed."""

from collections.abc import Iterator

from barnabas.broker.metrics.counts import TopicCounts, TopicTable
from barnabas.broker.metrics.exposition import OTHER, family, labels, largest, single
from barnabas.model.limits import METRICS_TOPICS_MAX

_AT_ONCE = 200  # topics between two looks at the clock
_ATTRIBUTES = {
    "messagesin": "messages_in",
    "bytesin": "bytes_in",
    "bytesout": "bytes_out",
    "totalproducerequests": "produces",
    "totalfetchrequests": "fetches",
    "failedproducerequests": "failed_produces",
    "failedfetchrequests": "failed_fetches",
    "replicationbytesin": "replication_bytes_in",
    "replicationbytesout": "replication_bytes_out",
}


def collect(table: TopicTable) -> Iterator[str]:
    items, total, other = table.items(), TopicCounts(), TopicCounts()
    total.add(table.elsewhere)
    shown, summed = largest([(name, each.bytes_in + each.bytes_out) for name, each in items], METRICS_TOPICS_MAX)
    yield ""
    rows: list[tuple[str, TopicCounts]] = []
    for position, (name, counts) in enumerate(items):
        total.add(counts)
        if name in shown:
            rows.append((labels(topic=name), counts))
        else:
            other.add(counts)
        if not position % _AT_ONCE:
            yield ""
    if summed:
        rows.append((labels(topic=OTHER), other))
    for name, attribute in _ATTRIBUTES.items():
        samples = [("", _value(total, attribute))]
        samples += [(text, _value(counts, attribute)) for text, counts in rows]
        yield family(f"kafka_server_brokertopicmetrics_{name}_total", samples)
    yield single("barnabas_topics_summed", summed)


def _value(counts: TopicCounts, attribute: str) -> int:
    value: int = getattr(counts, attribute)
    return value + counts.failed_produces if attribute == "produces" else value
