"""`barnabas cluster kill-test`: kill -9 the leader of a partition while somebody writes to it, and count.

An idempotent producer writes numbers at a steady rate to a topic made for the test. In the middle the process of the
leader is killed; the longest silence between two acknowledgements is the gap that the producer saw. In the end the
topic is read from its beginning: every acknowledged number must be there, once, in order.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.common import human
from barnabas.cli.common.failure import FAILED, Failure
from barnabas.cli.common.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap, Yes, confirm, to_paste
from barnabas.cli.common.screen import emit_json, facts, note, paint, say

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message

_BEFORE_SECONDS = 3.0
_AFTER_SECONDS = 3.0
_GIVE_UP_SECONDS = 60.0
_IMPATIENT = {
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 200,
    "retry.backoff.ms": 20,
    "retry.backoff.max.ms": 100,
    "topic.metadata.refresh.fast.interval.ms": 50,
}


@dataclass
class Outcome:
    killed_node: int
    killed_pid: int
    gap_seconds: float
    new_leader: int
    acknowledged: int
    lost: int
    twice: int
    out_of_order: int

    @property
    def good(self) -> bool:
        return not (self.lost or self.twice or self.out_of_order)


def kill_test(
    rate: Annotated[int, typer.Option("--rate", min=1, max=100_000, metavar="N", help="Records a second.")] = 1000,
    as_json: AsJson = False,
    yes: Yes = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Kill a leader under load; show the gap, and what was lost.

    For clusters on this machine: the leader's process is ended with kill -9. `barnabas up --nodes` starts it again by
    itself; otherwise start it afterwards. Exit code 1 when anything acknowledged is missing or there twice.

    \b
    Example:
      barnabas cluster kill-test
      barnabas cluster kill-test --yes --json
    """
    from barnabas.cli.common.link import admin

    with admin(bootstrap) as cluster:
        nodes = cluster.cluster().nodes
        if len(nodes) < 2:
            raise Failure(
                f"a cluster of {human.plural(len(nodes), 'node')} cannot fail over", "Try: barnabas up --nodes 3"
            )
        confirm("Kill the process of a node, with kill -9?", yes)
        everywhere = ",".join(f"{node.host}:{node.port}" for node in nodes)
        topic = f"kill-test-{os.getpid()}"
        replicas = min(3, len(nodes))
        cluster.create_topic(topic, 1, replicas, {"min.insync.replicas": min(2, replicas)})
        ports = {node.id: node.port for node in nodes}
    outcome = _run(everywhere, topic, ports, rate)
    with admin(everywhere) as cluster:
        cluster.delete_topic(topic)
    if as_json:
        emit_json(outcome)
    else:
        _tell(outcome)
    if not outcome.good:
        raise typer.Exit(FAILED)


def _run(bootstrap: str, topic: str, ports: dict[int, int], rate: int) -> Outcome:
    writer = _Writer(bootstrap, topic, rate)
    try:
        writer.wait_for_acks(_BEFORE_SECONDS)
        leader = _leader(bootstrap, topic)
        pid = listening_process(ports[leader])
        note(f"{human.count(len(writer.acked))} records acknowledged; kill -9 {pid} (node {leader}, which leads)")
        os.kill(pid, signal.SIGKILL)
        killed_at = time.monotonic()
        writer.wait_for_recovery(killed_at)
        note(f"writing again after {human.duration(writer.gap_after(killed_at))}; reading everything back")
    finally:
        writer.stop()
    seen = _read_all(bootstrap, topic, writer)
    acked = set(writer.acked)
    return Outcome(
        leader,
        pid,
        writer.gap_after(killed_at),
        _leader(bootstrap, topic),
        len(acked),
        len(acked - set(seen)),
        len(seen) - len(set(seen)),
        sum(later < earlier for earlier, later in pairwise(seen)),
    )


@dataclass
class _Writer:
    bootstrap: str
    topic: str
    rate: int
    acked: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)  # when each was acknowledged
    failed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        from barnabas.cli.common.link import producer

        settings = {"enable.idempotence": True, "linger.ms": 0, "message.timeout.ms": 60_000, **_IMPATIENT}
        self._producer = producer(self.bootstrap, settings)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def _write(self) -> None:
        begun, number = time.monotonic(), 0
        while not self._stop.is_set():
            due = int((time.monotonic() - begun) * self.rate)
            while number < due:
                self._producer.produce(self.topic, str(number).encode(), partition=0, on_delivery=self._delivered)
                number += 1
            self._producer.poll(0.002)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failed.append(str(error))
            return
        self.times.append(time.monotonic())
        self.acked.append(int(message.value() or b""))

    def wait_for_acks(self, seconds: float) -> None:
        self._wait(lambda: len(self.times) > self.rate * seconds / 2, _GIVE_UP_SECONDS, "nothing is acknowledged")

    def wait_for_recovery(self, since: float) -> None:
        def steady() -> bool:
            fresh = [at for at in self.times[-5 * self.rate :] if at > since + 0.05]
            return bool(fresh) and fresh[-1] - fresh[0] > _AFTER_SECONDS

        self._wait(steady, _GIVE_UP_SECONDS, "writing does not go on after the kill")

    def _wait(self, done: Callable[[], bool], seconds: float, complaint: str) -> None:
        deadline = time.monotonic() + seconds
        while not done():
            if time.monotonic() > deadline:
                why = f": {self.failed[-1]}" if self.failed else ""
                see = to_paste("cluster status", self.bootstrap)
                raise Failure(f"{complaint} ({human.duration(seconds)}){why}", f"See: {see}")
            time.sleep(0.02)

    def gap_after(self, moment: float) -> float:
        """The longest silence that ended after this moment."""
        times = self.times
        return max((b - a for a, b in pairwise(times) if b > moment), default=0.0)

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(5)
        self._producer.flush(30)


def _leader(bootstrap: str, topic: str) -> int:
    from barnabas.cli.common.link import admin

    with admin(bootstrap) as cluster:
        leader = cluster.describe_topic(topic).partitions[0].leader
    if leader is None:
        raise Failure(f"{topic} has no leader")
    return leader


def _read_all(bootstrap: str, topic: str, writer: _Writer) -> list[int]:
    from confluent_kafka import OFFSET_BEGINNING, TopicPartition

    from barnabas.cli.common.link import consumer

    reader = consumer(bootstrap, {"group.id": topic, "enable.auto.commit": False, "enable.partition.eof": True})
    reader.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    seen: list[int] = []
    deadline = time.monotonic() + _GIVE_UP_SECONDS
    while time.monotonic() < deadline:
        for message in reader.consume(10_000, 0.5):
            if message.error() is None:
                seen.append(int(message.value() or b"-1"))
            elif len(seen) >= len(writer.acked):
                reader.close()
                return seen
            else:
                deadline = min(deadline, time.monotonic() + 5)  # at the end, and something is missing: wait a little
    reader.close()
    return seen


def _tell(outcome: Outcome) -> None:
    say()
    facts(
        [
            ("killed", f"node {outcome.killed_node} (process {outcome.killed_pid})"),
            ("now leads", f"node {outcome.new_leader}"),
            ("gap", human.duration(outcome.gap_seconds)),
            ("acknowledged", human.plural(outcome.acknowledged, "record")),
            ("lost", human.count(outcome.lost)),
            ("twice", human.count(outcome.twice)),
            ("out of order", human.count(outcome.out_of_order)),
        ]
    )
    say()
    verdict = "nothing that was acknowledged is lost" if outcome.good else "THE CLUSTER BROKE ITS PROMISE"
    say(paint(verdict, "green" if outcome.good else "red"))


def listening_process(port: int) -> int:
    """The process of this machine that listens on the port, found as `ss -ltnp` finds it."""
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        path = Path(table)
        if not path.exists():
            continue
        for line in path.read_text().splitlines()[1:]:
            cells = line.split()
            if cells[3] == "0A" and int(cells[1].rpartition(":")[2], 16) == port:
                inodes.add(f"socket:[{cells[9]}]")
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                if any(str(link.readlink()) in inodes for link in (process / "fd").iterdir()):
                    return int(process.name)
            except OSError:
                continue  # ended meanwhile, or somebody else's
    raise Failure(
        f"no process of yours on this machine listens on port {port}", "kill-test is for a cluster on this machine."
    )
