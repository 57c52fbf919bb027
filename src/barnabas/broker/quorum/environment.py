"""What a member of the quorum works with: disk, threads and connections below it, the node's callbacks above it."""

from collections.abc import Callable
from concurrent.futures import Executor
from typing import NamedTuple

from barnabas.broker.peers.table import PeerConnector
from barnabas.broker.upkeep.disk_space import DiskSpace
from barnabas.core.cluster.image import MetadataImage
from barnabas.core.raft.effects import RoleChange
from barnabas.storage.disk import Disk


class QuorumIO(NamedTuple):
    disk: Disk
    disk_space: DiskSpace
    log_thread: Executor  # one thread: two flushes of one log at a time would count on each other
    read_threads: Executor
    connector: PeerConnector


class QuorumCallbacks(NamedTuple):
    publish: Callable[[MetadataImage], None]  # the image of what is committed
    role_changed: Callable[[RoleChange], None]  # who leads, or what this member is, has changed
    failed: Callable[[BaseException], None]  # a broken invariant, or a disk that cannot be written: stop the node
