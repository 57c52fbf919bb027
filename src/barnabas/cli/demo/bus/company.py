"""The company of the story: its servers, those that can be had, its folders and its topics."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias

from barnabas.cli.common.screen import say
from barnabas.cli.demo.bus.servers.missing import Missing, need_modules
from barnabas.cli.demo.bus.servers.mosquitto import Mosquitto
from barnabas.cli.demo.bus.servers.opensearch import OpenSearch
from barnabas.cli.demo.bus.servers.postgres import Postgres
from barnabas.cli.demo.bus.servers.s3proxy import S3Proxy
from barnabas.cli.demo.bus.servers.server import Server

CUSTOMERS, ORDERS, ENRICHED = "customers", "orders", "orders.enriched"
SENSORS, ALERTS = "sensors", "sensors.alerts"
LOGS = "logs"
TOPICS = {CUSTOMERS: 1, ORDERS: 2, ENRICHED: 2, SENSORS: 2, ALERTS: 1, LOGS: 1}  # with their partitions

Step: TypeAlias = Callable[[Server], None]

_PARTS = {
    "postgres": "orders from PostgreSQL",
    "opensearch": "search in OpenSearch",
    "s3": "orders in S3",
    "warehouse": "orders in DuckDB",
    "mosquitto": "sensors by MQTT",
}


class Company:
    """`launch` tries every server, `wait` returns when they answer. One that cannot be had is None, and `skipped` says
    why, by part of the story."""

    def __init__(self, folder: Path, work: Path, may_install: bool) -> None:
        """`folder` has what people may want to keep; `work` has the servers' own."""
        self.definitions = folder / "definitions"
        self.access_log = folder / "service" / "access.log"
        self.lake = folder / "lake"
        self.skipped: dict[str, str] = {}
        self.postgres: Postgres | None = Postgres(may_install)
        self.opensearch: OpenSearch | None = OpenSearch(work / "opensearch")
        self.s3: S3Proxy | None = S3Proxy(work / "s3", self.lake)
        self.mosquitto: Mosquitto | None = Mosquitto(work / "mosquitto", may_install)
        self.warehouse: Path | None = folder / "warehouse.duckdb"
        self._launched: list[Server] = []
        self._waiting = ThreadPoolExecutor(4)  # so that each knows how long it took
        self._waits: dict[Server, Future[None]] = {}

    def launch(self) -> None:
        try:
            need_modules("duckdb")
        except Missing as missing:
            self._skip("warehouse", missing)
        for name in ("postgres", "opensearch", "s3", "mosquitto"):
            self._try(name, _prepare)
        self._without_orders()
        if self.servers():
            say(f"starting {', '.join(each.title for each in self.servers())} ...")
            sys.stdout.flush()
        for name in ("opensearch", "s3", "postgres", "mosquitto"):  # those that take longest first
            self._try(name, self._launch)
        for server in self.servers():
            self._waits[server] = self._waiting.submit(server.wait)

    def wait(self) -> None:
        for name in ("postgres", "mosquitto", "s3", "opensearch"):
            self._try(name, lambda server: self._waits[server].result())
        self._without_orders()

    def stop(self) -> None:
        for server in reversed(self._launched):
            server.stop()
        self._launched.clear()
        self._waiting.shutdown()

    def servers(self) -> list[Server]:
        return [each for each in (self.postgres, self.opensearch, self.s3, self.mosquitto) if each is not None]

    def _launch(self, server: Server) -> None:
        self._launched.append(server)  # before: what fails half-way is stopped, too
        server.launch()

    def _try(self, name: str, step: Step) -> None:
        server: Server | None = getattr(self, name)
        if server is None:
            return
        try:
            step(server)
        except Missing as missing:
            self._skip(name, missing)

    def _skip(self, name: str, why: Missing | str) -> None:
        self.skipped[_PARTS[name]] = str(why)
        server = getattr(self, name)
        setattr(self, name, None)
        if server in self._launched:
            self._launched.remove(server)
            server.stop()

    def _without_orders(self) -> None:
        """Where there are no orders, nothing is written to what they would go to."""
        for name in ("s3", "warehouse"):
            if self.postgres is None and getattr(self, name) is not None:
                self._skip(name, "there are no orders without PostgreSQL")


def _prepare(server: Server) -> None:
    server.prepare()


def took(server: Server) -> str:
    return f"{server.took_s:.1f} s" if server.took_s else "it was running"
