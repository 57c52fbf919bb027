"""One hop after the other: what went in, what came out, and what is on its way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.cli.demo.bus.company import ALERTS, ENRICHED, LOGS, ORDERS, SENSORS

if TYPE_CHECKING:
    from barnabas.cli.demo.bus.company import Company
    from barnabas.cli.demo.bus.counting.topics import TopicWatch
    from barnabas.cli.demo.bus.producing.makers import Makers
    from barnabas.client.admin.admin import Admin

PIPELINE_GROUP = "enrich"  # a pipeline's group has its name


@dataclass(frozen=True)
class Hop:
    name: str  # of the connector, or of the pipeline
    start: str
    end: str
    records_in: Callable[[], int]
    records_out: Callable[[], int]
    group: str = ""  # whose lag it is; empty: what went in and has not come out
    is_sink: bool = False


class Hops:
    def __init__(self, company: Company, makers: Makers, watch: TopicWatch, admin: Admin, on_spark: bool) -> None:
        self._watch, self._admin = watch, admin
        self._lags: dict[str, int] = {}
        self.all: list[Hop] = []
        if (shop := makers.shop) is not None:
            self.all.append(Hop("orders", "PostgreSQL", f"topic {ORDERS}", lambda: shop.made, self._in(ORDERS)))
            self._orders(company, on_spark)
        if (sensors := makers.sensors) is not None:
            self.all.append(Hop("sensors", "MQTT", f"topic {SENSORS}", lambda: sensors.made, self._in(SENSORS)))
            self._between("sensors-alerts", SENSORS, ALERTS, "connect-sensors-alerts")
        log = makers.access_log
        self.all.append(Hop("logs", "a service's log", f"topic {LOGS}", lambda: log.made, self._in(LOGS)))
        if company.opensearch is not None:
            self._sink("logs-search", LOGS, "OpenSearch")

    def _orders(self, company: Company, on_spark: bool) -> None:
        self._between("enrich", ORDERS, ENRICHED, PIPELINE_GROUP if on_spark else "connect-enrich")
        if company.opensearch is not None:
            self._sink("orders-search", ENRICHED, "OpenSearch")
        if company.s3 is not None:
            self._sink("orders-lake", ENRICHED, "S3, Parquet")
        if company.warehouse is not None:
            self._sink("orders-warehouse", ENRICHED, "DuckDB")

    def look(self) -> None:
        """Asks for the lag of every group."""
        self._lags = self._admin.group_lags([each.group for each in self.all if each.group])

    def lag(self, hop: Hop) -> int | None:
        """None: its group has not committed anything yet."""
        if not hop.group:
            return max(0, hop.records_in() - hop.records_out())
        return self._lags.get(hop.group)

    def on_the_way(self) -> list[str]:
        """Hops that have not passed everything on. Of sinks it is what workers tell that counts, every two seconds: in
        a lag there may be a marker of a transaction."""
        return [hop.name for hop in self.all if hop.records_in() and not self._has_passed(hop)]

    def _has_passed(self, hop: Hop) -> bool:
        return hop.records_out() >= hop.records_in() if hop.is_sink else self.lag(hop) == 0

    def _in(self, topic: str) -> Callable[[], int]:
        return lambda: self._watch.counts[topic].records

    def _sink(self, name: str, topic: str, end: str) -> None:
        self.all.append(
            Hop(
                name, f"topic {topic}", end, self._in(topic), lambda: self._watch.written(name), f"connect-{name}", True
            )
        )

    def _between(self, name: str, start: str, end: str, group: str) -> None:
        self.all.append(Hop(name, f"topic {start}", f"topic {end}", self._in(start), self._in(end), group))
