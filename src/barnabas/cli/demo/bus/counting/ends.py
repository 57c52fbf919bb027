"""Counts at every end of the story, read from the systems themselves once everything has arrived."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from barnabas.cli.demo.bus.company import ALERTS, ENRICHED, LOGS, ORDERS, SENSORS

if TYPE_CHECKING:
    from barnabas.cli.demo.bus.company import Company
    from barnabas.cli.demo.bus.counting.topics import TopicWatch
    from barnabas.cli.demo.bus.producing.makers import Makers
    from barnabas.cli.demo.bus.servers.opensearch import OpenSearch
    from barnabas.cli.demo.bus.servers.s3proxy import S3Proxy


@dataclass(frozen=True)
class End:
    where: str
    rows: int
    cents: int | None = None  # the sum of all orders; None: of something else


@dataclass(frozen=True)
class Compared:
    """The same things at several ends. The first is what was made."""

    what: str
    ends: list[End]

    @property
    def differing(self) -> list[End]:
        first = self.ends[0]
        return [each for each in self.ends if (each.rows, each.cents) != (first.rows, first.cents)]


def compare(company: Company, makers: Makers, watch: TopicWatch) -> list[Compared]:
    found = []
    if makers.shop is not None:
        found.append(Compared("orders", list(_orders(company, *makers.shop.count(), watch))))
    if makers.sensors is not None:
        sensors, alerts = watch.counts[SENSORS], watch.counts[ALERTS]
        ends = [End("published by MQTT", makers.sensors.made), End(f"different ones in topic {SENSORS}", sensors.rows)]
        found.append(Compared("measurements", ends))
        ends = [End("far off when published", makers.sensors.anomalies)]
        found.append(Compared("anomalies", [*ends, End(f"different ones in topic {ALERTS}", alerts.rows)]))
    lines = [End("lines written to the log", makers.access_log.made), End(f"records in topic {LOGS}", _logs(watch))]
    if company.opensearch is not None:
        lines.append(End("documents in OpenSearch", _documents(company.opensearch, company.opensearch.logs)[0]))
    return [*found, Compared("log lines", lines)]


def _logs(watch: TopicWatch) -> int:
    """Records, and not different ones: each line is there once."""
    return watch.counts[LOGS].records


def _orders(company: Company, rows: int, cents: int, watch: TopicWatch) -> Iterator[End]:
    yield End("rows in PostgreSQL", rows, cents)
    for topic in (ORDERS, ENRICHED):
        yield End(f"keys in topic {topic}", watch.counts[topic].rows, watch.counts[topic].cents)
    if company.opensearch is not None:
        yield End("documents in OpenSearch", *_documents(company.opensearch, company.opensearch.orders))
    if company.s3 is not None:
        changes, kept = _parquet(company.s3)
        yield End(f"last rows by key of {changes:,} in Parquet on S3", len(kept), sum(kept.values()))
    if company.warehouse is not None:
        yield End("rows in the DuckDB table", *_table(company.warehouse))


class _Sum(msgspec.Struct):
    value: float = 0


class _Hits(msgspec.Struct):
    class Total(msgspec.Struct):
        value: int = 0

    total: Total = msgspec.field(default_factory=Total)


class _Answer(msgspec.Struct):
    hits: _Hits = msgspec.field(default_factory=_Hits)
    aggregations: dict[str, _Sum] = {}


def _documents(opensearch: OpenSearch, index: str) -> tuple[int, int]:
    client = opensearch.client()
    try:
        client.request("POST", f"/{index}/_refresh")
        asked = {"size": 0, "track_total_hits": True, "aggs": {"cents": {"sum": {"field": "cents"}}}}
        # In the address: this client gives bodies the media type of bulk requests, which a search refuses.
        source = quote(msgspec.json.encode(asked))
        reply = client.request("GET", f"/{index}/_search?source_content_type=application/json&source={source}")
        answer = msgspec.json.decode(reply.body, type=_Answer)
        return answer.hits.total.value, round(answer.aggregations.get("cents", _Sum()).value)
    finally:
        client.close()


def _parquet(s3: S3Proxy) -> tuple[int, dict[str, int]]:
    """All rows, and the cents of the last one of each key, as any program would read them."""
    import obstore
    import pyarrow.parquet as pq

    store, rows = s3.store(), []
    names = [each["path"] for part in obstore.list(store) for each in part if each["path"].endswith(".parquet")]
    for name in names:
        table = pq.read_table(io.BytesIO(bytes(obstore.get(store, name).bytes())), partitioning=None)
        for row in table.to_pylist():
            rows.append((row["_partition"], row["_offset"], str(row["_key"]), row.get("_deleted"), row.get("cents")))
    return len(rows), last_by_key(rows)


def last_by_key(rows: Iterable[tuple[int, int, str, bool | None, int | None]]) -> dict[str, int]:
    """Of partition, offset, key, whether it was deleted, cents. All changes of a key are in one partition."""
    kept: dict[str, int] = {}
    for _, _, key, deleted, cents in sorted(rows, key=lambda row: row[:2]):
        if deleted:
            kept.pop(key, None)
        else:
            kept[key] = cents or 0
    return kept


def _table(path: Path) -> tuple[int, int]:
    import duckdb

    if not path.exists():
        return 0, 0
    with duckdb.connect(str(path), read_only=True) as connection:
        found = connection.execute("select count(*), coalesce(sum(cents), 0) from orders").fetchone()
    assert found is not None
    return int(found[0]), int(found[1])
