"""The doctor's look at a node from outside: every step of a client's first second, and with --write a record's way."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from barnabas.cli.common import human
from barnabas.cli.common.cluster import in_words
from barnabas.cli.doctor import probe
from barnabas.cli.doctor.command import Check
from barnabas.link.errors import LinkDown

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message

# What every client needs: Produce, Fetch, ListOffsets, Metadata, FindCoordinator, JoinGroup, CreateTopics.
_NEEDED = {0: "Produce", 1: "Fetch", 2: "ListOffsets", 3: "Metadata", 10: "FindCoordinator", 11: "JoinGroup"}
_SLOW_S = 0.05
_CLOCK_S = 1.0
_WRITES = 50


def checks(bootstrap: str, *, write: bool) -> Iterator[Check]:
    from barnabas.client.common.connection import addresses
    from barnabas.client.errors import BarnabasError

    try:
        targets = addresses(bootstrap)
    except BarnabasError as error:
        yield Check("fail", "address", str(error), "Give it as host:port with --bootstrap.")
        return
    told: probe.Told | None = None
    for host, port in targets:
        try:
            told = probe.ask(host, port)
        except LinkDown as problem:
            why = in_words(problem)
            way_out = "Is a node up there? Start one: barnabas up" if "refused" in why else "Check the address."
            yield Check("fail", "reach", f"{host}:{port}: {why}", way_out)
            continue
        slow = told.round_trip_s > _SLOW_S
        yield Check("warn" if slow else "ok", "reach", f"{host}:{port} answers in {human.duration(told.round_trip_s)}",
                    "The network or the node is slow." if slow else "")  # fmt: skip
        yield from _told(told, (host, port))
    if told is not None and write:
        yield from _write(bootstrap)


def _told(told: probe.Told, reached: tuple[str, int]) -> Iterator[Check]:
    missing = [name for key, name in _NEEDED.items() if key not in told.apis]
    if missing:
        yield Check("fail", "apis", f"{', '.join(missing)} not served", "This is no broker, or a very old one.")
    else:
        newest = ", ".join(f"{name} {told.apis[key][1]}" for key, name in list(_NEEDED.items())[:3])
        yield Check("ok", "apis", f"{len(told.apis)} served (to {newest})")
    size = f"{human.plural(len(told.brokers), 'node')}, {human.plural(told.topics, 'topic')}"
    yield Check("ok", "cluster", f"{told.cluster_id or 'without id'}: {size}")
    if told.leaderless:
        text = f"{human.plural(len(told.leaderless), 'partition')} without a leader: {', '.join(told.leaderless[:5])}"
        yield Check("fail", "partitions", text, "Which nodes are down: barnabas cluster status")
    if told.sharing_a_zone:
        names = ", ".join(told.sharing_a_zone[:5])
        text = (
            f"{human.plural(len(told.sharing_a_zone), 'partition')} with replicas in one zone only for want of a move"
        )
        yield Check("warn", "zones", f"{text}: {names}", "Spread them: barnabas cluster balance")
    if not told.brokers:
        yield Check("fail", "told", "no node at all", "The node is starting, or fenced: look at its log.")
    for node, (host, port) in sorted(told.brokers.items()):
        yield _advertised(node, host, port, reached)


def _advertised(node: int, host: str, port: int, reached: tuple[str, int]) -> Check:
    what = f"node {node} sends clients to {host}:{port}"
    if host in ("0.0.0.0", "::", ""):
        return Check("fail", "told", f"{what}, which is no address", "Start it with --advertise HOST:PORT.")
    if (host, port) == reached:
        return Check("ok", "told", f"{what}, as reached")
    try:
        probe.connect(host, port).close()
    except LinkDown as problem:
        way_out = "Is it down (barnabas cluster status)? If not, give it an address that clients can reach: --advertise"
        return Check("fail", "told", f"{what}: {in_words(problem)}", way_out)
    return Check("ok", "told", f"{what}, which can be reached")


def _write(bootstrap: str) -> Iterator[Check]:
    """A scratch topic that stamps with the node's clock; it is deleted again whatever happens."""
    from barnabas.cli.common.link import admin, producer
    from barnabas.client.errors import BarnabasError

    topic = f"barnabas-doctor-{os.getpid()}-{int(time.time())}"
    try:
        with admin(bootstrap) as cluster:
            cluster.create_topic(topic, partitions=1, configs={"message.timestamp.type": "LogAppendTime"})
            try:
                handle = producer(bootstrap, {"linger.ms": 0, "acks": "all", "message.timeout.ms": 5000})
                took, stamps = [], []

                def arrived(error: KafkaError | None, message: Message) -> None:
                    if error is None:
                        stamps.append(message.timestamp()[1])

                for _ in range(_WRITES):
                    begun = time.perf_counter()
                    handle.produce(topic, b"x" * 100, on_delivery=arrived)
                    handle.flush(6)
                    took.append(time.perf_counter() - begun)
                now_ms = time.time() * 1000
                yield _latency(sorted(took), len(stamps))
                if stamps:
                    yield _clock((stamps[-1] - now_ms) / 1000)
            finally:
                cluster.delete_topic(topic)
    except BarnabasError as error:
        yield Check("fail", "write", str(error))


def _latency(took: list[float], arrived: int) -> Check:
    if arrived < len(took):
        return Check(
            "fail", "write", f"{len(took) - arrived} of {len(took)} records did not arrive", "Look at the node's log."
        )
    middle, worst = took[len(took) // 2], took[-1]
    told = f"acknowledged in {human.duration(middle)} (slowest of {len(took)}: {human.duration(worst)})"
    if middle > _SLOW_S:
        return Check("warn", "write", told, "The disk or the network is slow.")
    return Check("ok", "write", told)


def _clock(ahead_s: float) -> Check:
    if abs(ahead_s) < _CLOCK_S:
        return Check("ok", "clock", "the node's clock and this one agree")
    side = "ahead of" if ahead_s > 0 else "behind"
    told = f"the node's clock is {human.duration(abs(ahead_s))} {side} this one"
    return Check("warn", "clock", told, "Run NTP on both: retention and lag in seconds trust the clock.")
