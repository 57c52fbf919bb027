"""A sink under a worker, with what is said of it; a small disk; a slow line."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from confluent_kafka import Producer

from barnabas.cli.connect.telling import rows_of
from barnabas.connect.cluster.connection import Cluster
from tests.connect.faults.targets import Target
from tests.support.connect import ConnectWorker, all_records, connect
from tests.support.members import QUIET, until
from tests.support.servers import BarnabasNode

WAIT_S = 90.0


class Flow:
    """Numbers of a topic to a target."""

    def __init__(self, node: BarnabasNode, folder: Path, name: str, target: Target) -> None:
        self.node, self.name, self.target = node, name, target
        self.sent = 0
        file = folder / "sink.yaml"
        source = {"topics": [f"{name}-in"], "format": "json"}
        file.write_text(yaml.safe_dump({"name": name, "from": source, "to": {target.kind: target.options()}}))
        self.worker = ConnectWorker(node.bootstrap, folder / "worker.log", file)

    def send(self, count: int, size: int = 0) -> None:
        producer = Producer({**QUIET, "bootstrap.servers": self.node.bootstrap})
        for _ in range(count):
            self.sent += 1
            value = {"n": self.sent, "text": "x" * size}
            producer.produce(f"{self.name}-in", json.dumps(value).encode(), str(self.sent).encode())
        assert producer.flush(30) == 0

    def arrives(self) -> None:
        """All that was sent; once, where the target can."""
        wanted = list(range(1, self.sent + 1))
        try:
            until(lambda: set(self.target.found()) >= set(wanted), f"{self.sent} numbers", WAIT_S)
        except AssertionError as problem:
            found = sorted(self.target.found())
            raise AssertionError(f"{problem}: {len(found)} of {self.sent}\n{self.worker.tail()}") from None
        found = sorted(self.target.found())
        assert (found if self.target.once else sorted(set(found))) == wanted

    def state(self) -> tuple[str, str]:
        row = next(each for each in rows_of(Cluster(self.node.bootstrap)) if each.name == self.name)
        return row.state, row.problem

    def waits(self, said: str) -> str:
        """Until it says so in `connect status`, in one line; the line."""
        try:
            until(lambda: self.state()[0] == "waiting" and said in self.state()[1], f"it waits: {said}", WAIT_S)
        except AssertionError as problem:
            raise AssertionError(f"{problem}: {self.state()}\n{self.worker.tail()}") from None
        state, line = self.state()
        text = connect(self.node.bootstrap, "status", self.name)
        assert state == "waiting" and "waiting" in text
        assert "\n" not in line and len(line) < 500
        return line

    def runs(self) -> None:
        until(lambda: self.state()[0] == "running", "it runs", WAIT_S)

    def restart(self) -> None:
        connect(self.node.bootstrap, "restart", self.name)

    def log(self, words: str) -> int:
        return self.worker.log_path.read_text().count(words)

    def dead(self) -> int:
        return len(all_records(self.node.bootstrap, f"{self.name}.dead"))


@contextlib.contextmanager
def small_disk(place: Path, size_bytes: int) -> Iterator[None]:
    if os.geteuid() != 0:
        pytest.skip("mounting a tmpfs needs root")
    place.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "tmpfs", str(place)]
    if (mounted := subprocess.run(mount, capture_output=True, text=True)).returncode:
        pytest.skip(f"no tmpfs can be mounted here: {mounted.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(place: Path, leave_bytes: int = 0) -> None:
    left = shutil.disk_usage(place).free - leave_bytes
    with contextlib.suppress(OSError), (place / "filler").open("wb", buffering=0) as file:
        while left > 0:
            left -= file.write(bytes(min(left, 65536)))


def empty(place: Path) -> None:
    (place / "filler").unlink()


class SlowLine:
    """Carries bytes to a port at so many a second, and each piece late."""

    def __init__(self, port: int, bytes_per_s: int, late_s: float) -> None:
        self._behind, self._rate, self._late_s = port, bytes_per_s, late_s
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self._behind), 5)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            for pair in ((client, server), (server, client)):
                threading.Thread(target=self._carry, args=pair, daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(16_384):
                time.sleep(self._late_s + len(data) / self._rate)
                sink.sendall(data)
        for each in (source, sink):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._accepting.join(5)
