"""On a flushed topic a follower fetches on, and so counts as holding a record, before its fsync."""

from collections.abc import Callable
from dataclasses import replace

from barnabas.broker.replication.fetcher import ReplicaFetcher
from barnabas.broker.replication.followed import Followed, Key
from barnabas.sim.bugs.base import Bug
from barnabas.wire.fetch.request import Wanted

_NOT_EVERY_WRITE = 2


def _make(right: Callable[[ReplicaFetcher, Key, Followed], Wanted | None]) -> object:
    def wanted(self: ReplicaFetcher, key: Key, followed: Followed) -> Wanted | None:
        partition = followed.partition
        config, partition.config = partition.config, replace(partition.config, flush_messages=_NOT_EVERY_WRITE)
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
