"""Counts what held the loop among the figures of the node's health (loop_watchdog.py notices it)."""

import asyncio

from barnabas.broker.metrics.health import Health
from barnabas.broker.metrics.loop_watchdog import Hold, LoopHolds, LoopWatchdog


class LoopHealth:
    """`watched`: the simulator measures its callbacks itself."""

    def __init__(self, health: Health, *, watched: bool) -> None:
        self._health = health
        self.holds = LoopHolds()
        health.figures["loop"] = self.holds.figures
        self._watchdog = LoopWatchdog(self._held) if watched else None
        if self._watchdog is not None:
            self._watchdog.start()

    def _held(self, hold: Hold) -> None:
        self.holds.record(hold, asyncio.get_running_loop().time())
        self._health.changed()

    def stop(self) -> None:
        if self._watchdog is not None:
            self._watchdog.stop()
