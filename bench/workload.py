"""The shape of a row: its cases, how one run of a case is made on one server, what is read from it.

A workload that starts, kills or fills servers makes siblings in `prepare`/`run` and removes them in `finish`; what it
has to remember between runs is kept per server in `state`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from .measures import Measure
from .options import Options
from .servers import Server

RunResult = dict[str, float | str]


class Case(Protocol):
    @property
    def label(self) -> str: ...


C = TypeVar("C", bound=Case)


class Workload(ABC, Generic[C]):
    name: ClassVar[str]
    title: ClassVar[str]
    measures: ClassVar[tuple[Measure, ...]]
    warm_up: ClassVar[float] = 0.2  # a run at this share of the scale before each case; 0 for none
    ours_alone: ClassVar[bool] = False  # measured on our node only
    rounds: ClassVar[int | None] = None  # runs of each case at most; None for as many as were asked for

    def __init__(self) -> None:
        self.state: dict[tuple[str, str], Any] = {}

    @abstractmethod
    def cases(self) -> Sequence[C]: ...

    def quick_cases(self) -> Sequence[C]:
        return self.cases()

    def chosen(self, options: Options) -> Sequence[C]:
        return self.quick_cases() if options.quick else self.cases()

    def prepare(self, server: Server, case: C, options: Options) -> None:
        """Once per server and case, before its first run."""

    @abstractmethod
    def run(self, server: Server, case: C, options: Options) -> RunResult: ...

    def finish(self, server: Server) -> None:
        """Once per server, after the last case."""

    def measures_of(self, case: C) -> Sequence[Measure]:
        return self.measures
