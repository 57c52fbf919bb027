"""A row of the benchmark on three nodes, which are started before its first case and removed after its last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol, TypeVar

from .measures import Measure
from .options import Options
from .servers import Server
from .trio import Trio
from .workload import Case, Workload


class CaseOfAKind(Case, Protocol):
    @property
    def kind(self) -> str: ...


K = TypeVar("K", bound=CaseOfAKind)


class TrioWorkload(Workload[K]):
    measured: ClassVar[Mapping[str, Sequence[str]]]
    """The keys of what is measured, for each kind of case."""

    def measures_of(self, case: K) -> Sequence[Measure]:
        return [measure for measure in self.measures if measure.key in self.measured[case.kind]]

    def prepare(self, server: Server, case: K, options: Options) -> None:
        if (server.name, "trio") not in self.state:
            trio = Trio(server)
            try:
                trio.start()
            except Exception:
                trio.remove()
                raise
            self.state[server.name, "trio"] = trio

    def trio(self, server: Server) -> Trio:
        found: Trio = self.state[server.name, "trio"]
        return found

    def finish(self, server: Server) -> None:
        if (server.name, "trio") in self.state:
            self.trio(server).remove()
