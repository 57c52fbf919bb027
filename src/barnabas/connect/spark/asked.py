"""What the driver asks of a round and what the round answers, as JSON.

Nothing secret is in it: a definition has references (`${env:NAME}`), which the task resolves where it runs, and how to
log in at the cluster stands in the client profile there. What went wrong is an answer too, since an exception in a task
would make Spark try the task again at once, and print it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from barnabas.connect.cluster.batches import Fenced
from barnabas.connect.cluster.connection import Cluster
from barnabas.connect.cluster.positions import Known
from barnabas.connect.contract import Behind
from barnabas.connect.definition.definition import Definition
from barnabas.connect.errors import BadOption, ConnectError, Unavailable
from barnabas.connect.python_functions import allow_folder
from barnabas.connect.runtime.partition_writing import Stopped


class Failure(msgspec.Struct, frozen=True):
    """Of a whole round."""

    kind: Literal["failed", "waits", "fenced"]
    text: str


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    definition: Definition
    bootstrap: str
    folders: list[str]  # whose Python files may be run
    seconds: float
    task: int  # as it stands in dead letters

    def cluster(self) -> Cluster:
        """In a task, before anything else."""
        for each in self.folders:
            allow_folder(Path(each))
        return Cluster(self.bootstrap)


class SourceAsked(Asked, frozen=True, kw_only=True):
    partition: int  # of NAME.positions
    splits: list[str]
    known: Known | None = None


class SourceAnswer(msgspec.Struct, kw_only=True):
    records: int = 0
    dead: int = 0
    behind: dict[str, Behind] = {}
    problem: str = ""  # of a split that waits
    known: Known | None = None
    failure: Failure | None = None


class Begin(msgspec.Struct, frozen=True):
    """A partition of a topic, and the offset to begin at unless the target knows better."""

    topic: str
    partition: int
    offset: int


class SinkAsked(Asked, frozen=True, kw_only=True):
    partitions: list[Begin]
    gather_s: float  # how long a round is whose writers gather records


class PartitionAnswer(msgspec.Struct, frozen=True, kw_only=True):
    topic: str
    partition: int
    durable: int  # -1: not known
    last_ms: int = 0
    problem: str = ""


class SinkAnswer(msgspec.Struct, kw_only=True):
    partitions: list[PartitionAnswer] = []
    records: int = 0
    dead: int = 0
    failure: Failure | None = None


def failure_of(problem: Exception) -> Failure:
    if isinstance(problem, BadOption | Stopped):
        return Failure("failed", str(problem))
    if isinstance(problem, Fenced):
        return Failure("fenced", str(problem))
    if isinstance(problem, ConnectError):
        return Failure("waits", str(problem))
    return Failure("waits", f"{type(problem).__name__}: {problem}")


def raise_again(failure: Failure | None) -> None:
    if failure is None:
        return
    if failure.kind == "failed":
        raise BadOption(failure.text)
    if failure.kind == "fenced":
        raise Fenced(failure.text)
    raise Unavailable(failure.text)
