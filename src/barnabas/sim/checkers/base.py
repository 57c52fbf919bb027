"""What the checkers are given: the world with its history, and everything that could be read at the end."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.sim.history import Partition

if TYPE_CHECKING:
    from barnabas.sim.world import World


@dataclass(slots=True)
class Final:
    everything: dict[Partition, list[tuple[int, bytes]]]
    committed: dict[Partition, list[tuple[int, bytes]]]


Checker = Callable[["World", Final], Iterator[str]]
