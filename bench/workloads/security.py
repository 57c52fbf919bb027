"""The same work over TLS, and what it costs to get in: new TLS connections, logins by SCRAM.

Both servers have the same certificate and the same settings, on a fresh node of their own.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..clients import blast, create_topic, payloads, producer, topic
from ..measures import Better, Measure
from ..meter import Meter
from ..options import Options
from ..secured import Login, Secured, TlsConnection, create_user
from ..servers import Server, free_port
from ..wire import api_versions_frame, pipeline, produce_frame, record_batch
from ..workload import RunResult, Workload
from .consume import read_topic

RECORDS = {100: 2_000_000, 1024: 600_000}
THREADS = 4


@dataclass(frozen=True, slots=True)
class SecurityCase:
    label: str
    kind: str
    size: int = 0
    count: int = 0


class Security(Workload[SecurityCase]):
    name = "security"
    title = "TLS and logins"
    measures = (
        Measure("records_per_s", "records/s", "/s", Better.HIGHER, ratio_goal=1.0, digits=0),
        Measure("cpu_s_per_million", "server CPU per million", "s", Better.LOWER, ratio_goal=0.7),
    )
    request_measures = (
        Measure("requests_per_s", "requests/s", "/s", Better.HIGHER, ratio_goal=1.5, digits=0),
        Measure("cpu_us_per_request", "server CPU per request", "µs", Better.LOWER, digits=1),
    )

    def cases(self) -> Sequence[SecurityCase]:
        return [
            SecurityCase("produce 1 KiB", "produce", 1024),
            SecurityCase("produce 100 B", "produce", 100),
            SecurityCase("consume 1 KiB", "consume", 1024),
            SecurityCase("consume 100 B", "consume", 100),
            SecurityCase("small requests, 5 in flight", "requests", count=40_000),
            SecurityCase("new TLS connections", "connections", count=2_000),
            SecurityCase("logins by SCRAM-SHA-512", "logins", count=3_000),
        ]

    def measures_of(self, case: SecurityCase) -> Sequence[Measure]:
        if case.kind in ("produce", "consume"):
            return self.measures
        rate, cpu = self.request_measures
        goal = {"requests": 1.5, "connections": 1.0, "logins": 2.0}[case.kind]
        word = "requests" if case.kind == "requests" else case.kind
        each = "request" if case.kind == "requests" else case.kind[:-1]
        return (
            Measure(rate.key, f"{word}/s", rate.unit, rate.better, ratio_goal=goal, digits=0),
            Measure(cpu.key, f"server CPU per {each}", cpu.unit, cpu.better, digits=1),
        )

    def prepare(self, server: Server, case: SecurityCase, options: Options) -> None:
        node, _ = self._node(server)
        key = (server.name, f"topic-{case.size}")
        if case.kind == "consume" and key not in self.state:
            self.state[key] = create_topic(node.bootstrap)
            blast(producer(node.bootstrap), self.state[key], payloads(case.size), options.count(RECORDS[case.size]))

    def _node(self, server: Server) -> tuple[Server, Secured]:
        key = (server.name, "node")
        if key not in self.state:
            node = server.sibling()
            secured = node.secured = Secured(node.home / "tls", free_port(), free_port())
            secured.create()
            self.state[key] = (node, secured)
            node.start()
            node.wait_ready().close()
            create_user(node.bootstrap)
        found: tuple[Server, Secured] = self.state[key]
        return found

    def finish(self, server: Server) -> None:
        if (server.name, "node") in self.state:
            self.state[server.name, "node"][0].remove()

    def run(self, server: Server, case: SecurityCase, options: Options) -> RunResult:
        node, secured = self._node(server)
        match case.kind:
            case "produce":
                return _produce(node, secured, case.size, options.count(RECORDS[case.size]))
            case "consume":
                records = options.count(RECORDS[case.size])
                name = self.state[server.name, f"topic-{case.size}"]
                return read_topic(node, secured.tls_bootstrap, secured.client(), name, records, case.size)
            case "requests":
                return _requests(node, secured, options.count(case.count))
            case "connections":
                context = secured.context()
                return _each(node, options.count(case.count), lambda: _connect(secured.tls_port, context))
            case _:
                login = Login(secured.login_port)
                login.once()
                return _each(node, options.count(case.count), login.once)


def _produce(node: Server, secured: Secured, size: int, records: int) -> RunResult:
    with topic(node.bootstrap) as name:
        client = producer(secured.tls_bootstrap, **secured.client())
        client.list_topics(name, timeout=10)
        values = payloads(size)
        meter = Meter(node)
        blast(client, name, values, records)
        return meter.stop(records=records, record_bytes=size)


def _requests(node: Server, secured: Secured, requests: int) -> RunResult:
    with topic(node.bootstrap) as name:
        data = produce_frame(name, record_batch(payloads(100, 1)))
        connection = TlsConnection(secured.tls_port, secured.context())
        meter = Meter(node)
        pipeline(connection, name, data, requests)
        result = meter.stop(requests=requests)
        connection.close()
        return result


def _connect(port: int, context: ssl.SSLContext) -> None:
    connection = TlsConnection(port, context)
    connection.call(api_versions_frame())
    connection.close()


def _each(node: Server, count: int, act: Callable[[], None]) -> RunResult:
    """`act` so many times, by several threads: a handshake leaves the interpreter to others."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            for _ in range(count // THREADS):
                act()
        except BaseException as error:  # told by the thread that waits
            failures.append(error)

    threads = [threading.Thread(target=run) for _ in range(THREADS)]
    meter = Meter(node)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return meter.stop(requests=count // THREADS * THREADS)
