"""docs/operations.md as an operator follows it: three nodes from its file, a fourth that joins, then its commands."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

from tests.support.pages import BIN, ROOT, blocks, commands, environment, run
from tests.support.process import free_port

PAGE = ROOT / "docs" / "operations.md"
HOSTS = ("a", "b", "c", "d")

# What changes the machine or needs a service manager, and what tests of their own run.
ELSEWHERE = {
    "useradd --system --home-dir /var/lib/barnabas --shell /usr/sbin/nologin barnabas",
    "python3 -m venv /opt/barnabas && /opt/barnabas/bin/pip install .",
    "systemctl enable --now barnabas",
    "barnabas cluster kill-test",
}


def healthy(bootstrap: str, folder: Path, nodes: int) -> None:
    """Waits until every node is there and every partition fully replicated, as the page says one should."""
    deadline = time.monotonic() + 60
    while True:
        done = run("barnabas cluster status --json | jq '.brokers | length'", bootstrap, folder)
        if done.returncode == 0 and done.stdout.strip() == str(nodes):
            return
        assert time.monotonic() < deadline, done.stdout + done.stderr
        time.sleep(0.2)


def test_the_page(tmp_path: Path) -> None:
    ports = {host: free_port() for host in HOSTS}

    def here(text: str) -> str:
        for host, port in ports.items():
            text = text.replace(f"{host}.example.org:9092", f"127.0.0.1:{port}")
        return text

    (toml,) = blocks(PAGE, "toml")
    running: dict[str, subprocess.Popen[bytes]] = {}

    def start(host: str, settings: str) -> None:
        (tmp_path / f"{host}.toml").write_text(settings.replace("/var/lib/barnabas", str(tmp_path / host)))
        words: list[str | Path] = [BIN / "barnabas", "up", "-q", "--config", tmp_path / f"{host}.toml"]
        with (tmp_path / f"{host}.log").open("wb") as log:
            running[host] = subprocess.Popen(words, cwd=tmp_path, env=environment("", tmp_path), stdout=log, stderr=log)

    bootstrap = here("a.example.org:9092")
    try:
        for number, host in enumerate(HOSTS[:3], 1):
            settings = toml.replace("node.id = 1", f"node.id = {number}")
            settings = settings.replace("PLAINTEXT://a.example.org", f"PLAINTEXT://{host}.example.org")
            start(host, here(settings))
        healthy(bootstrap, tmp_path, 3)
        for topic in ("TOPIC", "orders"):
            assert run(f"barnabas topic create {topic} --partitions 3", bootstrap, tmp_path).returncode == 0
        joins = 'node.id = 4\nlisteners = "PLAINTEXT://d.example.org:9092"\nlog.dirs = "/var/lib/barnabas"\n'
        joins += 'controller.quorum.bootstrap.servers = "a.example.org:9092,b.example.org:9092"\n'
        assert joins.splitlines()[-1] in PAGE.read_text()
        start("d", here(joins))
        healthy(bootstrap, tmp_path, 4)
        typed = [here(command.text) for command in commands(PAGE) if command.text not in ELSEWHERE]
        assert len(typed) >= 6
        for text in [*typed, "barnabas topic grow TOPIC 6"]:
            asks = " drain " in text or ("balance" in text and "--dry-run" not in text)
            done = run(text + " --yes" * asks, bootstrap, tmp_path)
            assert done.returncode == (130 if "--watch" in text else 0), f"{text}\n{done.stdout}{done.stderr}"
        for process in running.values():
            process.send_signal(signal.SIGTERM)
        assert [process.wait(30) for process in running.values()] == [0, 0, 0, 0]
    finally:
        for process in running.values():
            if process.poll() is None:
                process.kill()
                process.wait()
