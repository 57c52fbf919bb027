"""The log of a real node at the default level: what changed, what was repaired, who was refused."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.members import until
from tests.support.paths import ROOT
from tests.support.process import free_port
from tests.support.servers import BarnabasNode

pytestmark = pytest.mark.timeout(120)


def test_what_an_operator_needs_is_in_the_log(tmp_path: Path) -> None:
    node = BarnabasNode(tmp_path, {"max.connections": "30", "max.connections.per.ip": "30"})
    node.start()
    try:
        _run(["topic", "create", "orders", "--partitions", "3", "--bootstrap", node.bootstrap])
        _run(["config", "set", "topic", "orders", "retention.ms=1000", "--bootstrap", node.bootstrap])
        _until_said(node, "1 topic created: orders (3 partitions, 1 replica)")
        said = _until_said(node, "settings of topic orders changed: retention.ms=1000")
        assert "this node leads the quorum in epoch" in said
        assert "Try, from another terminal" not in said
        held = [socket.create_connection(("127.0.0.1", node.port)) for _ in range(60)]
        _until_said(node, "connection from 127.0.0.1 refused: the node has 30 connections already (max.connections)")
        for each in held:
            each.close()
        assert node.log_path.read_text().count(" refused: ") < 10
        _run(["produce", "orders", "--bootstrap", node.bootstrap], b"a record\n")
        node.kill()
        for log in node.data.glob("orders-*/*.log"):
            if log.stat().st_size:
                with log.open("ab") as file:
                    file.write(b"torn")
        node.start()
        said = _until_said(node, "the node was not stopped cleanly: the logs of")
        assert "was repaired: 4 bytes cut" in said
        assert "1 repaired, 4 bytes cut" in said
        _run(["topic", "delete", "orders", "--yes", "--bootstrap", node.bootstrap])
        _until_said(node, "1 topic deleted: orders")
    finally:
        node.stop()


def test_json_by_the_environment(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "barnabas.cli.main", "up", "--quiet", "--data", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "BARNABAS_LOG_FORMAT": "json"}
    environment["BARNABAS_LOG_LEVEL"] = "info"
    errors = tmp_path.with_suffix(".stderr")
    with errors.open("wb") as stderr:
        node = subprocess.Popen(
            [*command, "--port", str(free_port())], env=environment, stdout=subprocess.PIPE, stderr=stderr
        )
        assert node.stdout is not None
        assert node.stdout.readline().startswith(b"127.0.0.1:")
        node.send_signal(signal.SIGTERM)
        assert node.wait(30) == 0
        node.stdout.close()
    lines = [json.loads(line) for line in errors.read_text().splitlines()]
    assert {"time", "level", "logger", "message"} <= lines[0].keys()
    assert any(line["message"].startswith("this node leads the quorum") for line in lines)
    assert any(line["logger"] == "barnabas.broker.controller.driver" for line in lines)  # the level has its effect too


def _until_said(node: BarnabasNode, text: str) -> str:
    until(lambda: text in node.log_path.read_text(), f"the log says {text!r}", 20)
    return node.log_path.read_text()


def _run(arguments: list[str], given: bytes = b"") -> None:
    command = [sys.executable, "-m", "barnabas.cli.main", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, input=given, capture_output=True, env=environment, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
