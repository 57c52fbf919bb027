"""A row of the benchmark on three nodes, which are started before its first case and removed after its last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol, TypeVar

from .measures import Measure
from .options import Options
from .servers import Server
from .three_node_cluster import ThreeNodeCluster
from .workload import Case, Workload


class CaseOfAKind(Case, Protocol):
    @property
    def kind(self) -> str: ...


K = TypeVar("K", bound=CaseOfAKind)


class ThreeNodeWorkload(Workload[K]):
    measured: ClassVar[Mapping[str, Sequence[str]]]
    """The keys of what is measured, for each kind of case."""

    def measures_of(self, case: K) -> Sequence[Measure]:
        return [measure for measure in self.measures if measure.key in self.measured[case.kind]]

    def prepare(self, server: Server, case: K, options: Options) -> None:
        if (server.name, "cluster") not in self.state:
            cluster = ThreeNodeCluster(server)
            try:
                cluster.start()
            except Exception:
                cluster.remove()
                raise
            self.state[server.name, "cluster"] = cluster

    def cluster(self, server: Server) -> ThreeNodeCluster:
        found: ThreeNodeCluster = self.state[server.name, "cluster"]
        return found

    def finish(self, server: Server) -> None:
        if (server.name, "cluster") in self.state:
            self.cluster(server).remove()
