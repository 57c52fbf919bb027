"""A clock that a test moves: time in a node passes as usual, plus what the test adds to it.

A node has two clocks: the machine's time (timestamps of records, what is persisted) and the loop's (timers, deadlines).
Both are moved together, so whatever would be due after the jump is due now: retention, expiry of offsets and producer
ids, timeouts of transactions and sessions. Every node of the process has the same
time, so all of them see the jump; timers only fire early in nodes that were started with a movable clock. When the last
node is gone, and its data with it, the time is the machine's again.
"""

import asyncio
import time

from barnabas.broker import clock


class MovedTime:
    """The machine's time and the monotonic clock, moved forward."""

    def __init__(self) -> None:
        self.moved_s = 0.0

    def time(self) -> float:
        return time.time() + self.moved_s

    def monotonic(self) -> float:
        return time.monotonic() + self.moved_s


_moved = MovedTime()


def moved_time() -> MovedTime:
    """The one of this process, put in place at its first use."""
    clock.source = _moved
    return _moved


def put_back() -> None:
    """The machine's own time again. Only while no node runs: to a node, time never goes back."""
    _moved.moved_s = 0.0


class MovableLoop(asyncio.SelectorEventLoop):
    """asyncio's own loop: uvloop keeps its time to itself."""

    def time(self) -> float:
        return super().time() + _moved.moved_s
