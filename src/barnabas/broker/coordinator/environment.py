"""What every coordinator of this node works with."""

from collections.abc import Callable
from concurrent.futures import Executor
from typing import NamedTuple

from barnabas.broker.clock import Clock
from barnabas.broker.partition.table import PartitionTable
from barnabas.broker.roles import ConfiguredView


class CoordinatorEnvironment(NamedTuple):
    cluster: ConfiguredView
    partitions: PartitionTable
    clock: Clock
    import_threads: Executor | None  # imports the machine ahead of the first request; None: that request does
    is_serving: Callable[[], bool]  # clients, and not only the other nodes
