"""Who is well, and since when the same majority is: what S8 measures the return to work by.

A node is well when it is up and ready, not paused, its links and its disk not disturbed by a fault. Nodes that are well
and reach each other are a group; while one group with a majority stays the same, work must go on within a bound.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import combinations
from typing import TYPE_CHECKING

from barnabas.sim import inspection
from barnabas.sim.network import Way

if TYPE_CHECKING:
    from barnabas.sim.computer import Computer
    from barnabas.sim.world import World


class Health:
    def __init__(self, world: "World") -> None:
        self._world = world
        self._ill: dict[int, int] = {}  # node: how many faults are on it
        self.well: frozenset[int] = frozenset()  # the nodes of the group that may work
        self.since = 0.0  # it is the same since then
        self.all_well_since: float | None = None
        self.calm_before = 0.0  # how long all had been well when this group began
        self.loud = False  # those who are missing died in a way that others notice at once

    @contextmanager
    def ill(self, computer: "Computer") -> Iterator[None]:
        self._ill[computer.number] = self._ill.get(computer.number, 0) + 1
        try:
            yield
        finally:
            self._ill[computer.number] -= 1

    @contextmanager
    def split(self, ways: Iterable[Way]) -> Iterator[None]:
        """The network knows what is blocked; this is here so that a fault says what it does in one place."""
        yield

    def is_well(self, computer: "Computer") -> bool:
        process, platter = computer.process, computer.platter
        return (
            computer.ready
            and process is not None
            and not process.paused
            and not self._ill.get(computer.number)
            and not (platter.full or platter.failing_reads or platter.failing_writes or platter.failing_syncs)
            and not computer.slow_sync_seconds
            and computer.host not in self._world.network.delay_seconds
        )

    def look(self) -> None:
        now, computers = self._world.loop.now, self._world.computers
        well = [computer for computer in computers if self.is_well(computer)]
        group = self._group(well)
        if group != self.well:
            self.well, self.since = group, now
            self.calm_before = now - self.all_well_since if self.all_well_since is not None else 0.0
            self.loud = all(not computer.is_up for computer in computers if computer.number not in group)
        if len(group) < len(computers):
            self.all_well_since = None
        elif self.all_well_since is None:
            self.all_well_since = now

    def _group(self, well: "list[Computer]") -> frozenset[int]:
        """The largest set of nodes that all reach each other, if it is a majority."""
        blocked = self._world.network.blocked
        needed = len(self._world.computers) // 2 + 1
        for size in range(len(well), needed - 1, -1):
            for chosen in combinations(well, size):
                if not any((a.host, b.host) in blocked for a in chosen for b in chosen):
                    return frozenset(computer.number for computer in chosen)
        return frozenset()

    def quorum_at_rest(self, computer: "Computer") -> bool:
        """May this voter forget all it knows? When it does not lead, and all are well, of one mind, and know it all."""
        if len(self.well) < len(self._world.computers):
            return False
        states = [inspection.quorum(other) for other in self._world.computers]
        known = [state for state in states if state is not None]
        return (
            len(known) == len(states)
            and len({(state.epoch, state.leader, state.end_offset) for state in known}) == 1
            and known[0].leader not in (-1, computer.number)
        )
