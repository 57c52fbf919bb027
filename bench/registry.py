"""What a schema registry does in a second, and what it costs: `python -m bench.registry`.

A node and a registry as processes on this machine, asked over kept connections by this process. Look-ups by id and
of a schema under its subject, registrations, and the start with 20,000 schemas in the topic.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
import time
from collections.abc import Callable
from multiprocessing import Process, Queue
from pathlib import Path
from typing import cast

import uvloop

from barnabas.registry.state.records import schema_record
from barnabas.registry.state.values import Content, Stored, hash_of
from tests.support.registry import RegistryProcess, register
from tests.support.servers import BarnabasNode

_CONNECTIONS = 8
_FIELDS = 20


def schema(number: int) -> str:
    """About 1 KB, as people have them."""
    fields = [{"name": f"field_{each}", "type": ["null", "string"], "default": None} for each in range(_FIELDS)]
    return json.dumps({"type": "record", "name": f"Event{number}", "fields": fields}, separators=(",", ":"))


def cpu_seconds(pid: int) -> float:
    parts = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


def memory_mb(pid: int) -> float:
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.split("VmRSS:")[1].split()[0]) / 1024


async def bare_server(answer: bytes, started: Queue[int]) -> None:
    """Answers everything with the same bytes: what this machine and this client give at best."""

    class Answering(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self._transport = cast(asyncio.Transport, transport)  # uvloop's own class

        def data_received(self, data: bytes) -> None:
            self._transport.write(answer)

    server = await asyncio.get_running_loop().create_server(Answering, "127.0.0.1", 0)
    started.put(server.sockets[0].getsockname()[1])
    await server.serve_forever()


def serve_bare(answer: bytes, started: Queue[int]) -> None:
    uvloop.run(bare_server(answer, started))


async def asked(port: int, request: Callable[[int], bytes], count: int, rate: float) -> list[float]:
    """Seconds of each answer from when it was due, by a few connections at once; a rate of 0 is as fast as it goes."""
    numbers = iter(range(count))
    taken: list[float] = []
    start = time.perf_counter()

    async def one() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for number in numbers:
            began = start + number / rate if rate else time.perf_counter()
            if rate and (early := began - time.perf_counter()) > 0:
                await asyncio.sleep(early)
            writer.write(request(number))
            head = await reader.readuntil(b"\r\n\r\n")
            size = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            await reader.readexactly(size)
            assert b" 200 " in head.split(b"\r\n", 1)[0], head
            taken.append(time.perf_counter() - began)
        writer.close()

    await asyncio.gather(*(one() for _ in range(_CONNECTIONS)))
    return sorted(taken)


def post(path: str, body: object) -> bytes:
    sent = json.dumps(body).encode()
    return f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(sent)}\r\n\r\n".encode() + sent


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nhost: x\r\n\r\n".encode()


def measured(
    what: str, registry: RegistryProcess, request: Callable[[int], bytes], count: int, rate: float = 0
) -> None:
    cpu, began = cpu_seconds(registry.pid), time.perf_counter()
    taken = uvloop.run(asked(registry.port, request, count, rate))
    seconds, used = time.perf_counter() - began, cpu_seconds(registry.pid) - cpu
    p99 = taken[int(len(taken) * 0.99)] * 1000
    print(
        f"{what:32} {count / seconds:8.0f}/s   p50 {taken[len(taken) // 2] * 1000:5.2f} ms   p99 {p99:5.2f} ms"
        f"   {count / used if used else 0:8.0f} per CPU second of the registry"
    )


def measured_bare(count: int, rate: float) -> None:
    """The same load on a server that does nothing, for comparison: on a shared machine its tail is not zero."""
    started: Queue[int] = Queue()
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n" + b"x" * 1000
    server = Process(target=serve_bare, args=(answer, started), daemon=True)
    server.start()
    try:
        taken = uvloop.run(asked(started.get(timeout=10), lambda _: get("/"), count, rate))
    finally:
        server.terminate()
        server.join()
    p50, p99 = (taken[int(len(taken) * each)] * 1000 for each in (0.5, 0.99))
    print(f"{'a server that does nothing':32} {rate:8.0f}/s   p50 {p50:5.2f} ms   p99 {p99:5.2f} ms")


def fill(bootstrap: str, topic: str, count: int) -> None:
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient, NewTopic

    compacted = NewTopic(topic, 1, 1, config={"cleanup.policy": "compact"})
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([compacted])[topic].result(20)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50})
    for number in range(1, count + 1):
        content = Content("AVRO", schema(number))
        record = schema_record(
            Stored(f"subject-{number % 5000}", number // 5000 + 1, number, content, hash_of(content), False, 0)
        )
        producer.produce(topic, key=record.key, value=record.value)
        producer.poll(0)
    assert producer.flush(60) == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schemas", type=int, default=20_000)
    parser.add_argument("--requests", type=int, default=10_000)
    told = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="barnabas-registry-"))
    node = BarnabasNode(folder / "node")
    registry = RegistryProcess(folder / "registry", node.bootstrap)
    try:
        node.start()
        registry.start()
        print(f"memory without schemas {memory_mb(registry.pid):.0f} MB")
        ids = [register(registry.port, f"bench-{each}", schema(10**9 + each))[1]["id"] for each in range(100)]
        measured("by id", registry, lambda number: get(f"/schemas/ids/{ids[number % 100]}"), told.requests)
        measured(
            "by id, 2,000 a second",
            registry,
            lambda number: get(f"/schemas/ids/{ids[number % 100]}"),
            told.requests,
            2_000,
        )
        measured_bare(told.requests, 2_000)
        measured(
            "schema under its subject",
            registry,
            lambda number: post(f"/subjects/bench-{number % 100}", {"schema": schema(10**9 + number % 100)}),
            told.requests,
        )
        measured(
            "latest version", registry, lambda number: get(f"/subjects/bench-{number % 100}/versions/latest"), 5_000
        )
        measured(
            "register",
            registry,
            lambda number: post(f"/subjects/new-{number}/versions", {"schema": schema(10**6 + number)}),
            1_000,
        )
        fill(node.bootstrap, "_schemas-bench", told.schemas)
        registry.stop()
        loaded = RegistryProcess(folder / "loaded", node.bootstrap, ["--topic", "_schemas-bench"])
        empty = RegistryProcess(folder / "empty", node.bootstrap, ["--topic", "_schemas-empty"])
        try:
            without = empty.start()
            empty.stop()
            seconds = loaded.start()
            print(f"{told.schemas} schemas loaded in {seconds - without:.1f} s ({seconds:.1f} s with the start)")
            last = loaded.ask("GET", f"/schemas/ids/{told.schemas}")
            assert last[0] == 200, last
            print(f"memory with them {memory_mb(loaded.pid):.0f} MB")
        finally:
            loaded.stop()
            empty.stop()
    finally:
        registry.stop()
        node.stop()


if __name__ == "__main__":
    main()
