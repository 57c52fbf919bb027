"""Every example of `barnabas connect` that docs/cli.md shows, typed into a shell."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

from tests.support.connect import ENVIRONMENT, written
from tests.support.pages import BIN, ROOT, environment
from tests.support.servers import BarnabasNode

ORDERS = """
    def read(position, options):
        number = (position or {"number": 0})["number"]
        if number < 5:
            yield {"number": number + 1}, {"number": number + 1}
"""
RUNS_ON = ("connect run", "connect worker")
ORDER = ["new", "kinds", "check", "add", "worker", "run", "list", "status", "pause", "resume", "restart"]
ORDER += ["reset", "redrive", "remove"]


def examples() -> list[str]:
    page = (ROOT / "docs" / "cli.md").read_text()
    found = [line.strip() for line in page.splitlines() if re.match(r"    barnabas connect ", line)]
    return sorted(set(found), key=lambda line: ORDER.index(line.split()[2]))


def test_every_example_works(node: BarnabasNode, tmp_path: Path) -> None:
    written(tmp_path / "orders.py", ORDERS)
    written(tmp_path / "orders.yaml", "name: orders\nfrom: {python: {file: orders.py}}\nto: {topic: orders}\n")
    lines = examples()
    assert len(lines) == len(ORDER)
    told = {**environment(node.bootstrap, tmp_path), **ENVIRONMENT, "PATH": f"{BIN}:/usr/bin:/bin"}
    for line in lines:
        process = subprocess.Popen(
            ["bash", "-c", f"exec {line}"], cwd=tmp_path, env=told, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        try:
            if any(each in line for each in RUNS_ON):
                assert process.stdout is not None
                said = iter(process.stdout.readline, b"")
                assert any(b", as worker " in text for text in said), f"{line} does not say that it runs"
                process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=60)
        finally:
            process.kill()
        assert process.returncode == 0, f"{line}\n{out.decode()}"
        assert b"Traceback" not in out, out.decode()
