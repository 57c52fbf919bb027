"""What each task of each connector does, told by its worker every two seconds: a compacted topic that `connect status`
and the console read. What a worker that died has told last is known by its age."""

from __future__ import annotations

import time
from typing import Literal

import msgspec

from barnabas.connect.cluster.compacted import read_table
from barnabas.connect.cluster.connection import Cluster, new_topic

STATUS_TOPIC = "__connect_status"
TELL_S = 2.0
SILENT_S = 10.0  # a worker that has not told anything for this long is gone

State = Literal["starting", "running", "waiting", "failed", "stopped"]


class TaskStatus(msgspec.Struct, kw_only=True):
    connector: str
    worker: str
    task: int
    state: State = "starting"
    problem: str = ""  # why it waits or has failed
    records: int = 0  # since it started
    records_per_s: float = 0.0
    dead: int = 0  # dead letters since it started
    parts: list[str] = []  # splits, or partitions as topic-0
    behind_records: int | None = None
    behind_bytes: int | None = None
    behind_seconds: float | None = None
    since_ms: int = 0
    told_ms: int = 0

    @property
    def is_silent(self) -> bool:
        return time.time() * 1000 - self.told_ms > SILENT_S * 1000


def ensure(cluster: Cluster) -> None:
    cluster.ensure_topics(
        [new_topic(STATUS_TOPIC, 1, cleanup_policy="compact,delete", retention_ms=str(7 * 24 * 3600 * 1000))]
    )


def key_of(status: TaskStatus) -> bytes:
    return msgspec.json.encode([status.connector, status.worker, status.task])


def read_all(cluster: Cluster) -> list[TaskStatus]:
    if not cluster.partitions_of(STATUS_TOPIC):
        return []
    found: list[TaskStatus] = []
    for value in read_table(cluster, STATUS_TOPIC, [0]).values():
        try:
            found.append(msgspec.json.decode(value, type=TaskStatus))
        except (msgspec.MsgspecError, ValueError):
            continue  # of a later version
    return sorted(found, key=lambda each: (each.connector, each.worker, each.task))
