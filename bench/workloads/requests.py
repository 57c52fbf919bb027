"""Many small requests: what one request costs the server, whatever is in it.

One connection with five produces in flight (one record, or 16 KB, each) by hand-made requests; twenty librdkafka
producers with one record a request and one request in flight; and the same twenty by hand, to see past the client.
"""

from __future__ import annotations

import selectors
from collections.abc import Sequence
from dataclasses import dataclass

from ..clients import payloads, producer, topic
from ..measures import Better, Measure
from ..meter import Meter
from ..options import Options
from ..servers import Server
from ..wire import Connection, RequestFailed, pipeline, produce_frame, produce_result, record_batch
from ..workload import RunResult, Workload


@dataclass(frozen=True, slots=True)
class RequestCase:
    label: str
    connections: int
    values: tuple[int, int]  # how many records of how many bytes in a request
    requests: int
    client: str = "raw"


ONE, SIXTEEN_KB = (1, 100), (15, 1024)


class Requests(Workload[RequestCase]):
    name = "requests"
    title = "Small produce requests"
    measures = (
        Measure("requests_per_s", "requests/s", "/s", Better.HIGHER, ratio_goal=2.5, digits=0),
        Measure("cpu_us_per_request", "server CPU per request", "µs", Better.LOWER, ratio_goal=0.4, digits=1),
    )
    many_connections = (
        Measure("requests_per_s", "requests/s, 20 connections", "/s", Better.HIGHER, ratio_goal=1.5, digits=0),
        Measure("cpu_us_per_request", "CPU per request, 20 connections", "µs", Better.LOWER, ratio_goal=0.4, digits=1),
    )

    def cases(self) -> Sequence[RequestCase]:
        return [
            RequestCase("1 connection, 5 in flight, 1 record", 1, ONE, 60_000),
            RequestCase("1 connection, 5 in flight, 16 KB", 1, SIXTEEN_KB, 30_000),
            RequestCase("20 connections, 1 record, librdkafka", 20, ONE, 80_000, "librdkafka"),
            RequestCase("20 connections, 1 record, by hand", 20, ONE, 60_000),
        ]

    def measures_of(self, case: RequestCase) -> Sequence[Measure]:
        return self.measures if case.connections == 1 else self.many_connections

    def run(self, server: Server, case: RequestCase, options: Options) -> RunResult:
        with topic(server.bootstrap) as name:
            if case.client == "librdkafka":
                return _twenty_producers(server, name, case, options)
            count, size = case.values
            data = produce_frame(name, record_batch(payloads(size, count)))
            if case.connections == 1:
                return _one_connection(server, name, data, options.count(case.requests))
            return _many_connections(server, name, data, case.connections, options.count(case.requests))


def _one_connection(server: Server, name: str, data: bytes, requests: int) -> RunResult:
    connection = Connection(server.address)
    meter = Meter(server)
    pipeline(connection, name, data, requests)
    result = meter.stop(requests=requests)
    connection.close()
    return result


def _twenty_producers(server: Server, name: str, case: RequestCase, options: Options) -> RunResult:
    single = {"linger_ms": 0, "batch_num_messages": 1, "max_in_flight": 1, "socket_nagle_disable": True}
    clients = [producer(server.bootstrap, **single) for _ in range(case.connections)]
    for client in clients:
        client.produce(name, b"connected")
    for client in clients:
        client.flush(30)
    values = payloads(case.values[1])
    each = options.count(case.requests) // len(clients)
    meter = Meter(server)
    for number in range(each):
        for client in clients:
            client.produce(name, values[number % len(values)])
    if any(client.flush(300) for client in clients):
        raise TimeoutError("records are not acknowledged after 300 s")
    return meter.stop(requests=each * len(clients))


def _many_connections(server: Server, name: str, data: bytes, connections: int, requests: int) -> RunResult:
    """One request in flight on each; a connection sends its next as soon as its answer is there."""
    every = [Connection(server.address) for _ in range(connections)]
    with selectors.DefaultSelector() as selector:
        for connection in every:
            selector.register(connection.socket, selectors.EVENT_READ, connection)
        meter = Meter(server)
        for connection in every:
            connection.send(data)
        sent, answered = connections, 0
        while answered < requests:
            for key, _ in selector.select(30):
                code, _offset = produce_result(name, key.data.receive())
                if code:
                    raise RequestFailed(f"produce: error {code}")
                answered += 1
                if sent < requests:
                    key.data.send(data)
                    sent += 1
        result = meter.stop(requests=requests)
    for connection in every:
        connection.close()
    return result
