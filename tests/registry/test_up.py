"""`barnabas up --registry`: both in one word, and both end together."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

from tests.support.paths import ROOT
from tests.support.process import end
from tests.support.registry import ask, register


def test_a_node_with_a_registry(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "barnabas.cli.main", "up", "--port", "0", "--data", str(tmp_path), "--registry"]
    environment = {"PYTHONPATH": str(ROOT / "src"), "PYTHONUNBUFFERED": "1", "XDG_CONFIG_HOME": str(tmp_path)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    try:
        assert process.stdout is not None
        told = next(line for line in process.stdout if "the registry" in line)
        found = re.search(r"the registry is at http://127\.0\.0\.1:(\d+)", told)
        assert found is not None, told
        port = int(found[1])
        assert register(port, "orders-value", '"string"')[1]["id"] == 1
        assert ask(port, "GET", "/subjects")[1] == ["orders-value"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        try:
            ask(port, "GET", "/subjects")
        except ConnectionError:
            return
        raise AssertionError("the registry is still there")
    finally:
        end(process)
