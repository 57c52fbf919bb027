"""`produce` and `consume` of a partition without a leader say what they wait for, and go on when it has one.

A `consume` that is to end gives up after a while.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import IO

import pytest

from tests.support.cluster import BarnabasCluster
from tests.support.members import until
from tests.support.process import end

pytestmark = pytest.mark.timeout(180)

COMMAND = [sys.executable, "-m", "barnabas.cli.main"]
IMPATIENT = """import sys
from barnabas.cli.consume import reading
from barnabas.cli.main import main
reading.GIVE_UP_S = 2.0
sys.exit(main())
"""


def without_leader(cluster: BarnabasCluster) -> tuple[str, int]:
    """A partition whose only replica is down, and its node."""
    topic = cluster.create("orders", 1, 1)
    node = cluster.leader(topic)
    cluster.kill(node)
    other = cluster.up[0]
    until(lambda: cluster.partition(topic, 0, ask=other)["leader_id"] < 0, "the partition has no leader")
    return topic, node


def started(*words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([*COMMAND, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def line(stream: IO[bytes] | None) -> str:
    assert stream is not None
    return stream.readline().decode()


def test_produce_and_consume_say_that_there_is_no_leader(cluster: BarnabasCluster) -> None:
    topic, node = without_leader(cluster)
    expected = f"barnabas: warning: {topic}-0 has no leader: start node {node} (barnabas cluster status"
    producing = started("produce", topic, "-b", cluster.bootstrap)
    consuming = started("consume", topic, "--group", "readers", "--follow", "-b", cluster.bootstrap)
    try:
        assert producing.stdin is not None
        producing.stdin.write(b"hello\n")
        producing.stdin.close()
        assert line(producing.stderr).startswith(expected)
        assert line(consuming.stderr).startswith(expected)
        cluster.start(node)
        assert producing.wait(60) == 0
        assert producing.stderr is not None and b"1 record to" in producing.stderr.read()
        assert line(consuming.stdout) == "hello\n"
        os.kill(consuming.pid, signal.SIGINT)
        assert consuming.wait(30) == 130
        assert consuming.stderr is not None and consuming.stderr.read() == b"", "it is told once"
    finally:
        for each in (producing, consuming):
            end(each)


@pytest.mark.parametrize("words", [("--group", "readers"), ()], ids=["as a member", "alone"])
def test_a_consume_that_is_to_end_gives_up(cluster: BarnabasCluster, words: tuple[str, ...]) -> None:
    topic, node = without_leader(cluster)
    command = [sys.executable, "-c", IMPATIENT, "consume", topic, *words, "-b", cluster.bootstrap]
    found = subprocess.run(command, capture_output=True, timeout=60, check=False)
    last = found.stderr.decode().splitlines()[-1]
    assert found.returncode == 1, found.stderr
    assert "no leader" in last and "barnabas cluster status" in last, last
    if words:
        assert last.startswith(f"barnabas: gave up after 2 s: {topic}-0 has no leader: start node {node} ("), last
