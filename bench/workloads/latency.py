"""One record at a time at a fixed rate, linger 0: from produce to acknowledged, and to consumed in another process.

The first seconds of a run are not counted. The clock is the machine's monotonic clock, one for both processes.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import struct
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, TopicPartition

from ..clients import consumer, producer, topic
from ..measures import Better, Measure
from ..meter import Meter
from ..options import Options
from ..servers import Server
from ..stats import latency_summary
from ..workload import RunResult, Workload

IGNORED_S = 2.0
PADDING = bytes(92)  # with the 8 bytes of the time of sending: 100 B
PR_SET_TIMERSLACK = 29


@dataclass(frozen=True, slots=True)
class LatencyCase:
    rate: int
    seconds: float

    @property
    def label(self) -> str:
        return f"{self.rate:,}/s"


class Latency(Workload[LatencyCase]):
    name = "latency"
    title = "Latency, linger 0"
    warm_up = 0.3
    measures = (
        Measure("ack_p50_ms", "produce to ack, p50", "ms", Better.LOWER, ratio_goal=0.9),
        Measure("ack_p99_ms", "produce to ack, p99", "ms", Better.LOWER, ratio_goal=0.5),
        Measure("consumed_p50_ms", "produce to consumed, p50", "ms", Better.LOWER, ratio_goal=0.9),
        Measure("consumed_p99_ms", "produce to consumed, p99", "ms", Better.LOWER, ratio_goal=0.5),
    )

    def cases(self) -> Sequence[LatencyCase]:
        return [LatencyCase(200, 12), LatencyCase(5000, 10)]

    def run(self, server: Server, case: LatencyCase, options: Options) -> RunResult:
        with topic(server.bootstrap) as name:
            return _measure(server, name, case.rate, options.seconds(case.seconds))


def _measure(server: Server, name: str, rate: int, seconds: float) -> RunResult:
    total = int(rate * (IGNORED_S + seconds))
    spawn = multiprocessing.get_context("spawn")
    ready, arrived = spawn.Event(), spawn.Queue()
    listener = spawn.Process(target=listen, args=(server.bootstrap, name, total, ready, arrived), daemon=True)
    listener.start()
    client = producer(server.bootstrap, linger_ms=0, socket_nagle_disable=True, delivery_report_only_error=False)
    stop = threading.Event()

    def serve_reports() -> None:
        while not stop.is_set():
            client.poll(0.05)

    poller = threading.Thread(target=serve_reports, daemon=True)
    poller.start()
    try:
        while not ready.is_set():  # until the consumer has seen something, it is not listening yet
            client.produce(name, struct.pack("d", 0.0) + PADDING)
            time.sleep(0.05)
        meter = Meter(server)
        begin = time.perf_counter()
        acknowledged = _send(client, name, rate, total, begin)
        if client.flush(60) or len(acknowledged) < total:
            raise TimeoutError(f"only {len(acknowledged)} of {total} records are acknowledged")
        result = meter.stop(records=total)
        consumed = arrived.get(timeout=60)
    finally:
        stop.set()
        poller.join()
        listener.join(5)
        listener.kill()
    counted_from = begin + IGNORED_S
    result |= latency_summary((took * 1e3 for sent, took in acknowledged if sent >= counted_from), "ack")
    return result | latency_summary(
        ((seen - sent) * 1e3 for sent, seen in consumed if sent >= counted_from), "consumed"
    )


def _send(client: Any, name: str, rate: int, total: int, begin: float) -> list[tuple[float, float]]:
    """(time of sending, seconds to the ack as librdkafka counts them) of every record, filled in as the acks come."""
    acknowledged: list[tuple[float, float]] = []

    def reporter(sent: float) -> Any:
        def report(error: object, message: Any) -> None:
            if error is None:
                acknowledged.append((sent, message.latency()))

        return report

    ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0)  # wake within a microsecond, not fifty
    for number in range(total):
        due = begin + number / rate
        now = time.perf_counter()
        if due > now:
            time.sleep(due - now)
            now = time.perf_counter()
        client.produce(name, struct.pack("d", now) + PADDING, on_delivery=reporter(now))
    return acknowledged


def listen(bootstrap: str, name: str, total: int, ready: Any, arrived: Any) -> None:
    """A process of its own: (time of sending, time of arrival) of every record."""
    client = consumer(bootstrap, group_id="bench-unused", enable_auto_commit=False, socket_nagle_disable=True)
    client.assign([TopicPartition(name, 0, OFFSET_BEGINNING)])
    seen: list[tuple[float, float]] = []
    while len(seen) < total:
        message = client.poll(30)
        if message is None:
            break
        if message.error():
            continue
        now = time.perf_counter()
        sent = struct.unpack_from("d", message.value() or bytes(8))[0]
        if sent:
            seen.append((sent, now))
        else:
            ready.set()
    arrived.put(seen)
    client.close()
