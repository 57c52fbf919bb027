"""Carrying out a plan: a few partitions at a time, a bar that shows how much data has arrived, and a stop.

Every move is a reassignment (KIP-455): the cluster adds the new replicas, waits until they are in sync, then lets the
old ones go, and clients notice nothing. Ctrl-C takes back what is under way and leaves what is done: the cluster is
whole at every moment. A throttle in bytes a second is set on the nodes for as long as the moves take (KIP-73).
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from barnabas.cli.cluster.view import sizes, view
from barnabas.cli.common import human
from barnabas.cli.common.cluster import Cluster, refused
from barnabas.cli.common.failure import Failure
from barnabas.cli.common.screen import note
from barnabas.model.errors import ErrorCode
from barnabas.operate.placement.nouns import Partition
from barnabas.operate.placement.plan import Move
from barnabas.wire.apis import ALTER_PARTITION_REASSIGNMENTS, ELECT_LEADERS, LIST_PARTITION_REASSIGNMENTS

if TYPE_CHECKING:
    from barnabas.wire.messages import AlterPartitionReassignmentsResponse, ListPartitionReassignmentsResponse

_LOOK_SECONDS = 0.25
_STILL_SECONDS = 120.0  # without any progress for so long, a person should know
_THROTTLES = ("leader.replication.throttled", "follower.replication.throttled")


def carry_out(cluster: Cluster, moves: Sequence[Move], at_once: int) -> None:
    """All moves, at most `at_once` under way; Ctrl-C cancels those and raises."""
    waiting = list(moves)
    running: dict[tuple[str, int], Move] = {}
    with _Bar(moves) as bar:
        try:
            while waiting or running:
                while waiting and len(running) < at_once:
                    with _uninterrupted():  # a move that is begun and not known here would not be taken back
                        move = waiting.pop(0)
                        running[move.partition.topic, move.partition.index] = move
                        _reassign(cluster, move.partition, move.replicas)
                _collect(cluster, running, bar)
                bar.arrived(cluster, running.values())
                if running:
                    time.sleep(_LOOK_SECONDS)
        except KeyboardInterrupt:
            # On new connections: on the old ones the answer to the interrupted request may still arrive.
            with Cluster(cluster.bootstrap) as again:
                _collect(again, running, bar)  # what has ended since the last look is not taken back
                for move in running.values():
                    _reassign(again, move.partition, None)
            left = len(waiting) + len(running)
            raise Failure(
                f"stopped: {bar.done} of {len(moves)} moves are done, {left} taken back or not begun",
                "Run it again to go on.",
            ) from None
    prefer(cluster, [move.partition for move in moves])


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C and SIGTERM wait until the block has ended."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _collect(cluster: Cluster, running: dict[tuple[str, int], Move], bar: _Bar) -> None:
    """Takes the moves that have ended out of `running`."""
    still = _under_way(cluster)
    for key in [key for key in running if key not in still]:
        bar.finished(running.pop(key))


def _reassign(cluster: Cluster, partition: Partition, replicas: Sequence[int] | None) -> None:
    body = {
        "timeout_ms": 30_000,
        "allow_replication_factor_change": True,
        "topics": [
            {
                "name": partition.topic,
                "partitions": [
                    {
                        "partition_index": partition.index,
                        "replicas": None if replicas is None else list(replicas),
                    }
                ],
            }
        ],
    }
    answer: AlterPartitionReassignmentsResponse = cluster.ask_any(ALTER_PARTITION_REASSIGNMENTS, body)
    code = answer.error_code or answer.responses[0].partitions[0].error_code
    gone = (ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if code and not (replicas is None and code in gone):
        raise refused(code, f"move {partition.name}", cluster.bootstrap)


def _under_way(cluster: Cluster) -> set[tuple[str, int]]:
    answer: ListPartitionReassignmentsResponse = cluster.ask_any(
        LIST_PARTITION_REASSIGNMENTS, {"timeout_ms": 30_000, "topics": None}
    )
    if answer.error_code:
        raise refused(answer.error_code, "list what is being moved", cluster.bootstrap)
    return {(topic.name, part.partition_index) for topic in answer.topics for part in topic.partitions}


def prefer(cluster: Cluster, partitions: Sequence[Partition]) -> None:
    """Leadership to the first replica of each: what was moved to a node is led there."""
    topics: dict[str, list[int]] = {}
    for each in partitions:
        topics.setdefault(each.topic, []).append(each.index)
    wanted = [{"topic": name, "partitions": indexes} for name, indexes in topics.items()]
    cluster.ask_any(ELECT_LEADERS, {"election_type": 0, "topic_partitions": wanted, "timeout_ms": 30_000})


class _Bar:
    """How many moves, how many bytes; a line now and then where nobody watches a terminal."""

    def __init__(self, moves: Sequence[Move]) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self.done = 0
        self._moves = len(moves)
        self._bytes = sum(move.bytes * len(move.added) for move in moves)
        self._finished = 0
        self._console = Console(stderr=True)
        self._bar = Progress(
            BarColumn(bar_width=30),
            TextColumn("{task.fields[told]}"),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
        )
        self._task = self._bar.add_task("", total=max(1, self._bytes + self._moves), told="")
        self._changed = time.monotonic()
        self._last = -1

    def __enter__(self) -> _Bar:
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._console.is_terminal:
            self._bar.stop()

    def finished(self, move: Move) -> None:
        self.done += 1
        self._finished += move.bytes * len(move.added)
        if not self._console.is_terminal:
            note(f"moved {move.partition.name} to {', '.join(map(str, move.replicas))} ({self.done}/{self._moves})")

    def arrived(self, cluster: Cluster, running: object) -> None:
        moves: list[Move] = list(running)  # type: ignore[call-overload]
        here = self._finished
        if moves and self._bytes:
            now = sizes(cluster, view(cluster).brokers)
            for move in moves:
                for broker_id in move.added:
                    key = (move.partition.topic, move.partition.index, broker_id)
                    here += min(move.bytes, now.get(key, 0))
        told = f"{self.done}/{self._moves} partitions, {human.size(here)} of {human.size(self._bytes)}"
        self._bar.update(self._task, completed=here + self.done, told=told)
        if here + self.done != self._last:
            self._last, self._changed = here + self.done, time.monotonic()
        elif time.monotonic() - self._changed > _STILL_SECONDS:
            self._changed = time.monotonic()
            stuck = ", ".join(move.partition.name for move in moves[:5])
            note(f"nothing has arrived for {human.duration(_STILL_SECONDS)}: {stuck}. Is a node down?")


@contextmanager
def throttled(bootstrap: str, moves: Sequence[Move], bytes_per_second: int | None) -> Iterator[None]:
    """Replication of what moves is held at this rate on every node, and let go at the end."""
    if bytes_per_second is None:
        yield
        return
    from barnabas.cli.common.link import admin

    brokers = sorted({each for move in moves for each in (*move.partition.replicas, *move.replicas)})
    topics = sorted({move.partition.topic for move in moves})
    with admin(bootstrap) as cluster:
        for broker_id in brokers:
            cluster.alter_configs("broker", broker_id, set={f"{name}.rate": bytes_per_second for name in _THROTTLES})
        for topic in topics:
            cluster.alter_configs("topic", topic, set={f"{name}.replicas": "*" for name in _THROTTLES})
    try:
        yield
    finally:
        with admin(bootstrap) as cluster:
            for broker_id in brokers:
                cluster.alter_configs("broker", broker_id, delete=[f"{name}.rate" for name in _THROTTLES])
            for topic in topics:
                cluster.alter_configs("topic", topic, delete=[f"{name}.replicas" for name in _THROTTLES])
