"""Java's Admin finds the new leader of a partition soon after the old one was killed."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support.cluster import BarnabasCluster
from tests.support.members import write
from tests.support.paths import CLASSPATH, LOG4J, require_setup
from tests.support.process import _end_with_parent, end

SOON_MS = 3000  # Kafka Connect gives up after so long (worker.sync.timeout.ms)


def test_an_admin_asks_the_new_leader_after_kill_9(cluster: BarnabasCluster, tmp_path: Path) -> None:
    require_setup()
    cluster.create("orders")
    write(cluster.bootstrap, "orders", [b"one", b"two"])
    logs = [f"-Dkafka.logs.dir={tmp_path}", "-Dtest.log.level=WARN", f"-Dlog4j2.configurationFile={LOG4J}"]
    java = ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx128M", *logs, "-cp", CLASSPATH]
    process = subprocess.Popen(
        [*java, "EndOffsets", cluster.bootstrap, "orders"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=_end_with_parent,
    )
    assert process.stdin is not None
    assert process.stdout is not None

    ask, answers = process.stdin, process.stdout

    def asked() -> int:
        """The milliseconds that one question took."""
        ask.write("\n")
        ask.flush()
        found, milliseconds = answers.readline().split()
        assert found == "2"
        return int(milliseconds)

    try:
        asked()
        took = []
        for _ in range(3):
            asked()  # of the leader that is killed now, which the Admin keeps in mind
            leader = cluster.leader("orders")
            cluster.kill(leader)
            took.append(asked())
            cluster.start(leader)
            cluster.await_isr("orders", 3)
    finally:
        end(process)
    assert max(took) < SOON_MS, took
