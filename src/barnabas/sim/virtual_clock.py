"""The clock of the simulated node that runs at the moment, put in place of the real one, and its log records."""

import logging
from typing import TYPE_CHECKING

from barnabas.sim.bugs.base import note_error

if TYPE_CHECKING:
    from barnabas.sim.world import World


class SimTime:
    """The clock of the node whose code runs right now."""

    def __init__(self, world: "World") -> None:
        self._world = world

    def time(self) -> float:
        current = self._world.loop.current
        computer = self._world.by_host.get(current.host) if current is not None else None
        return (computer or self._world.computers[0]).wall_seconds()

    def monotonic(self) -> float:
        return self._world.loop.now


class Complaints(logging.Handler):
    """What the nodes log: warnings become part of the story, an exception with a traceback is a surprise."""

    def __init__(self, world: "World") -> None:
        super().__init__(logging.WARNING)
        self._world = world

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        error = record.exc_info[1] if record.exc_info else None
        note_error(error)
        self._world.trace.note(f"log {record.levelname.lower()}: {text}{f' ({error!r})' if error else ''}")
        cluster = self._world.of_current_process()
        if error is not None and not cluster.excused:
            cluster.surprises.append(f"{text}: {error!r}")
