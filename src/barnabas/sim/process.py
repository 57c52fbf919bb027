"""One life of one simulated process: everything the loop runs for it carries its name, so that it can be killed.

A killed process never runs again: its callbacks are dropped where they wait. A paused one (SIGSTOP) keeps them, in
order, until it goes on. What a dead process leaves behind in memory is held until the end of the run, because code that
runs when Python tidies up (`finally`, cancelled futures) would otherwise run at a time no seed decides.
"""

import asyncio
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.sim.loop import SimHandle


class Crashed(BaseException):
    """The process ended in the middle of an operation on its disk. Not an Exception: nobody may catch it and go on."""


class Process:
    __slots__ = (
        "crashed",
        "dead",
        "deferred",
        "host",
        "is_node",
        "keepsakes",
        "name",
        "paused",
        "tasks",
        "wall_offset_seconds",
    )

    def __init__(self, name: str, host: str, *, is_node: bool = False) -> None:
        self.name = name
        self.host = host
        self.is_node = is_node  # what its callbacks cost is measured
        self.dead = False
        self.crashed = False  # died by itself (or by an armed disk); the world has yet to bury it
        self.paused = False
        self.wall_offset_seconds = 0.0  # how wrong its wall clock is
        self.deferred: deque[SimHandle] = deque()
        self.tasks: set[asyncio.Task[object]] = set()
        self.keepsakes: list[object] = []

    def __repr__(self) -> str:
        return f"<{self.name}{' dead' if self.dead else ''}{' paused' if self.paused else ''}>"
