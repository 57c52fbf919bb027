"""On a flushed topic a follower fetches on, and so counts as holding a record, before its fsync."""

from typing import Any

from barnabas.broker.replication.fetcher import ReplicaFetcher
from barnabas.sim.bugs.base import Bug


class _Unflushed:
    """The settings of a partition that does not flush every write."""

    def __init__(self, config: Any) -> None:
        self._config = config

    def __getattr__(self, name: str) -> Any:
        return False if name == "flush_every_write" else getattr(self._config, name)


def _make(right: Any) -> Any:
    def wanted(self: Any, key: Any, followed: Any) -> Any:
        partition = followed.partition
        config, partition.config = partition.config, _Unflushed(partition.config)
        try:
            return right(self, key, followed)
        finally:
            partition.config = config

    return wanted


BUG = Bug(
    "follower-before-fsync",
    "a follower counts before its fsync",
    ReplicaFetcher,
    "_wanted",
    _make,
    nodes=3,
    scenario="slow-disks",
)
