"""A gate between a client and a node: it sees every request and can stop the world at the one a test names.

The node advertises the gate's port, so clients come through it for everything. `hold(predicate)` stops the first
request that fits before it reaches the node; `mute(predicate)` lets it through and keeps the answer back. Either way
`await_reached` returns when it has happened, and whatever shares that connection waits until `open_again`.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from barnabas.testing import RunningNode, running_node
from barnabas.wire.apis import END_TXN, LIST_TRANSACTIONS, PRODUCE
from barnabas.wire.codec import decode_request
from barnabas.wire.headers import read_request_header
from tests.spark.drivers import DriverProcess

Predicate = Callable[[int, Any], bool]  # api key, decoded request
COMMITS_TOPIC = "__barnabas_spark_commits"
_WATCHED = (PRODUCE, END_TXN, LIST_TRANSACTIONS)


class Gate:
    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.target: tuple[str, int] = ("", 0)
        self._order: tuple[str, Predicate] | None = None
        self._reached, self._open = threading.Event(), threading.Event()
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def hold(self, predicate: Predicate) -> None:
        self._set("hold", predicate)

    def mute(self, predicate: Predicate) -> None:
        self._set("mute", predicate)

    def _set(self, kind: str, predicate: Predicate) -> None:
        self._reached.clear()
        self._open.clear()
        self._order = (kind, predicate)

    def await_reached(self, driver: DriverProcess, timeout_s: float = 400) -> None:
        """The request is to come from this driver: when it has ended there is nothing to wait for."""
        deadline = time.monotonic() + timeout_s
        while not self._reached.wait(0.1):
            assert driver.process.poll() is None, f"the driver ended before the request came\n{driver.tail()}"
            assert time.monotonic() < deadline, f"no such request came\n{driver.tail()}"

    def open_again(self) -> None:
        self._order = None
        self._open.set()

    def close(self) -> None:
        self.open_again()
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            node = socket.create_connection(self.target)
        except OSError:
            client.close()
            return
        muted = threading.Event()
        for each in (client, node):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=self._answers, args=(node, client, muted), daemon=True).start()
        with contextlib.suppress(OSError), node, client:
            while (frame := _frame(client)) is not None:
                kind = self._ordered(frame)
                if kind == "hold":
                    self._reached.set()
                    self._open.wait()
                elif kind == "mute":
                    muted.set()
                node.sendall(struct.pack(">i", len(frame)) + frame)

    def _ordered(self, frame: bytes) -> str | None:
        api_key, version = struct.unpack_from(">hh", frame)
        if self._order is None or api_key not in _WATCHED:
            return None
        request = decode_request(api_key, version, frame, read_request_header(frame).body_position)
        with self._lock:
            if self._order is not None and self._order[1](api_key, request):
                kind, self._order = self._order[0], None
                return kind
        return None

    def _answers(self, node: socket.socket, client: socket.socket, muted: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while (frame := _frame(node)) is not None:
                if muted.is_set():
                    self._reached.set()
                    self._open.wait()
                client.sendall(struct.pack(">i", len(frame)) + frame)
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)


def _frame(link: socket.socket) -> bytes | None:
    head = _exactly(link, 4)
    return None if head is None else _exactly(link, struct.unpack(">i", head)[0])


def _exactly(link: socket.socket, wanted: int) -> bytes | None:
    data = bytearray()
    while len(data) < wanted:
        part = link.recv(min(wanted - len(data), 1 << 20))
        if not part:
            return None
        data += part
    return bytes(data)


@contextmanager
def gated_node(settings: dict[str, Any] | None = None) -> Iterator[tuple[RunningNode, Gate]]:
    gate = Gate()
    advertised = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{gate.port}"}
    try:
        with running_node({**(settings or {}), **advertised}) as node:
            gate.target = ("127.0.0.1", node._port)
            yield node, gate
    finally:
        gate.close()


# --- the moments of a commit ---------------------------------------------------------------------------------------


def _of_task(transactional_id: str | None) -> bool:
    return transactional_id is not None and transactional_id.count("/") > 1


def task_writes(api_key: int, request: Any) -> bool:
    return api_key == PRODUCE and _of_task(request.transactional_id)


def decision_is_written(api_key: int, request: Any) -> bool:
    return api_key == PRODUCE and request.transactional_id is not None and not _of_task(request.transactional_id)


def decision_is_committed(api_key: int, request: Any) -> bool:
    return api_key == END_TXN and request.committed and not _of_task(request.transactional_id)


def task_is_committed(api_key: int, request: Any) -> bool:
    return api_key == END_TXN and request.committed and _of_task(request.transactional_id)


def done_is_noted(api_key: int, request: Any) -> bool:
    return api_key == PRODUCE and any(
        topic.name == COMMITS_TOPIC and request.transactional_id is None for topic in request.topic_data
    )


def nth(number: int, predicate: Predicate) -> Predicate:
    """The number-th request that fits."""
    seen = 0

    def fits(api_key: int, request: Any) -> bool:
        nonlocal seen
        seen += predicate(api_key, request)
        return predicate(api_key, request) and seen == number

    return fits
