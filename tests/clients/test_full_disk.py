"""A single node whose disk is full: whoever sends is told so within seconds, and reads go on."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import barnabas
from barnabas.client.errors import DeliveryFailed
from tests.support.members import until
from tests.support.paths import ROOT
from tests.support.servers import BarnabasNode

pytestmark = pytest.mark.timeout(120)
CLI = [sys.executable, "-m", "barnabas.cli.main"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
TOLD = "the disk of node 1 is full"


@pytest.fixture
def full_node(tmp_path: Path) -> Iterator[tuple[BarnabasNode, Path]]:
    """A node on a small tmpfs that holds one record of the topic `t` and has no room for more; and what fills it."""
    if os.geteuid() != 0:
        pytest.skip("mounting a tmpfs needs root")
    data = tmp_path / "data"
    data.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={48 << 20}", "tmpfs", str(data)]
    if (mounted := subprocess.run(mount, capture_output=True, text=True)).returncode:
        pytest.skip(f"no tmpfs can be mounted here: {mounted.stderr.strip()}")
    node = BarnabasNode(tmp_path)
    try:
        node.start()
        with barnabas.Producer(node.bootstrap) as producer:
            producer.send("t", b"before").result(20)
        filler = data / "filler"
        with filler.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
            while True:
                file.write(bytes(4096))
        yield node, filler
    finally:
        node.stop()
        subprocess.run(["umount", "--lazy", str(data)], check=True)


def test_produce_says_it_at_once_and_goes_on_when_there_is_room(full_node: tuple[BarnabasNode, Path]) -> None:
    node, filler = full_node
    command = [*CLI, "produce", "t", "--bootstrap", node.bootstrap]
    began = time.monotonic()
    sent = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
    assert sent.stdin is not None
    assert sent.stderr is not None
    sent.stdin.write(b"x" * 100_000 + b"\n")
    sent.stdin.close()
    told = sent.stderr.readline().decode()
    assert TOLD in told
    assert "retention.ms" in told
    assert time.monotonic() - began < 10  # one second of patience, and the start of two processes on a busy machine
    assert sent.poll() is None  # it keeps trying
    read = [*CLI, "consume", "t", "-n", "1", "--bootstrap", node.bootstrap]
    assert subprocess.run(read, capture_output=True, env=ENVIRONMENT, timeout=30).stdout.strip() == b"before"
    filler.unlink()
    assert sent.wait(30) == 0
    assert "1 record to t" in sent.stderr.read().decode()
    sent.stderr.close()
    log = node.log_path.read_text()
    assert "producers are refused, reads are served" in log
    assert "others lead" not in log
    assert "there is space again" in log


def test_the_library_logs_it_and_names_it_in_the_error(
    full_node: tuple[BarnabasNode, Path], caplog: pytest.LogCaptureFixture
) -> None:
    node, _ = full_node
    with caplog.at_level(logging.WARNING, "barnabas.client"):
        producer = barnabas.Producer(node.bootstrap, delivery_timeout=6)
        sent = producer.send("t", bytes(100_000))
        with pytest.raises(DeliveryFailed, match=TOLD):
            sent.result(30)
        until(lambda: TOLD in caplog.text, "the log says it", 5)
        producer.close()
