"""Commands on a node that takes connections and answers late, as a busy machine's does: they wait for it."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from barnabas.cli.common.link import CONNECT_TIMEOUT_S, SERVING_S
from barnabas.cli.main import main
from tests.support.browsing import producer
from tests.support.servers import BarnabasNode

LATE_S = 4.0
COMMANDS = [
    ("topic", "list"),
    ("consume", "letters"),
    ("grep", "letters", "a"),
    ("group", "list"),
    ("cluster", "status"),
]


def test_commands_wait_for_the_answer(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert CONNECT_TIMEOUT_S < LATE_S < SERVING_S
    with BarnabasNode(tmp_path) as node, ThreadPoolExecutor(len(COMMANDS)) as threads:
        sender = producer(node.bootstrap)
        sender.produce("letters", b"a")
        assert sender.flush(30) == 0
        assert main(["topic", "list", "-b", node.bootstrap]) == 0  # everything is imported
        assert node.process is not None
        pid = node.process.pid
        os.kill(pid, signal.SIGSTOP)
        threading.Timer(LATE_S, os.kill, (pid, signal.SIGCONT)).start()
        begun = time.monotonic()
        codes = list(threads.map(lambda words: main([*words, "-b", node.bootstrap]), COMMANDS))
        assert time.monotonic() - begun > LATE_S / 2
        told = capfd.readouterr()
    assert dict(zip(COMMANDS, codes, strict=True)) == dict.fromkeys(COMMANDS, 0), told.err
    assert told.out.count("letters") >= 2


def test_nobody_is_told_soon(capfd: pytest.CaptureFixture[str]) -> None:
    for words in COMMANDS:
        begun = time.monotonic()
        assert main([*words, "-b", "127.0.0.1:1"]) != 0
        assert time.monotonic() - begun < SERVING_S - 1
        assert "connection refused. Is a node up? Try: barnabas up" in capfd.readouterr().err
