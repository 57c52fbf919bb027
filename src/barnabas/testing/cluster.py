"""Several nodes in a test's process: one cluster, each node in a thread with its own loop, port and folder.

For what a single node cannot show: a leader that goes away, replicas, `min.insync.replicas`, a rolling restart. Topics
have three replicas by default where there are three nodes.
"""

import socket
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from barnabas.testing.node import RunningNode

NODES_MAX = 9


class RunningCluster:
    """The nodes by number, 1 and up; `bootstrap` names them all."""

    def __init__(self, data_dir: Path, nodes: int, settings: Mapping[str, object] | None = None) -> None:
        if not 1 <= nodes <= NODES_MAX:
            raise ValueError(f"nodes={nodes}: a cluster in a test has 1 to {NODES_MAX} nodes")
        ports = _free_ports(nodes)
        voters = ",".join(f"{number}@127.0.0.1:{port}" for number, port in enumerate(ports, 1))
        self.nodes: dict[int, RunningNode] = {}
        for number, port in enumerate(ports, 1):
            own = {"node.id": number, "controller.quorum.voters": voters}
            self.nodes[number] = RunningNode(data_dir / f"node-{number}", {**(settings or {}), **own}, port)
        self.bootstrap = ",".join(f"127.0.0.1:{port}" for port in ports)

    def start(self) -> "RunningCluster":
        """Together: a node alone waits for the majority of its quorum."""
        for node in self.nodes.values():
            node.launch()
        for node in self.nodes.values():
            node.wait_until_ready()
        return self

    def stop(self) -> None:
        """Together as well: a node that stops alone first hands its partitions over."""
        for node in self.nodes.values():
            node.ask_to_stop()
        for node in self.nodes.values():
            node.stop()


@contextmanager
def running_cluster(
    nodes: int = 3, settings: Mapping[str, object] | None = None, *, data_dir: Path | None = None
) -> Iterator[RunningCluster]:
    """A cluster for the length of a `with`; `settings` by Kafka's names are every node's."""
    with tempfile.TemporaryDirectory(prefix="barnabas-", ignore_cleanup_errors=True) as temporary:
        cluster = RunningCluster(data_dir or Path(temporary), nodes, settings)
        try:
            yield cluster.start()
        finally:
            cluster.stop()


def _free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
