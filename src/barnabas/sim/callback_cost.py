"""What the callbacks of simulated nodes cost: time stands still while one runs, but the processor's work is real.

A node promises to hold its loop for LOOP_BUDGET_MS at most. Here the CPU time of every callback of a node is measured,
without the work it gave to threads. The simulator's own disk and network are part of it, which is little: the longest
callbacks of the scenarios take 5 to 25 ms. A busy machine, or a module that is imported in the first run, makes one of
them seem longer. A seed is the same history every time, so `run_seed` runs one with a callback beyond the budget once
more: what took too long at the same step of both runs is what the node does. The figure is only reported: nothing in a
run depends on it.
"""

import asyncio
from collections.abc import Iterator

from barnabas.model.limits import LOOP_BUDGET_MS

LOOP_HELD = "S10 the loop was held"
_BUDGET_NS = LOOP_BUDGET_MS * 1_000_000


class CallbackCost:
    def __init__(self) -> None:
        self.worst_ns = 0
        self.worst_name = ""
        self.in_threads_ns = 0  # of work that a thread would do; not the loop's
        self.beyond: dict[int, tuple[int, str]] = {}  # step of the loop: nanoseconds beyond the budget, and by whom

    def took(self, nanoseconds: int, step: int, owner: str, callback: object) -> None:
        if nanoseconds > self.worst_ns:
            self.worst_ns = nanoseconds
            self.worst_name = f"{owner}: {_name(callback)}"
        if nanoseconds > _BUDGET_NS:
            self.beyond[step] = (nanoseconds, f"{owner}: {_name(callback)}")

    @property
    def worst_ms(self) -> float:
        return self.worst_ns / 1e6


def held_in_both(first: CallbackCost, again: CallbackCost) -> Iterator[str]:
    """What held the loop for too long in two runs of one seed, the longest first."""
    both = [
        (min(nanoseconds, again.beyond[step][0]), name)
        for step, (nanoseconds, name) in first.beyond.items()
        if step in again.beyond
    ]
    for nanoseconds, name in sorted(both, reverse=True):
        yield f"{LOOP_HELD} for {nanoseconds / 1e6:.0f} ms of CPU by {name}"


def _name(callback: object) -> str:
    """A task by its coroutines, from the outermost to the one that waits now."""
    task = getattr(callback, "__self__", None)
    if not isinstance(task, asyncio.Task):
        return str(getattr(callback, "__qualname__", None) or type(callback).__name__)
    names: list[str] = []
    work: object = task.get_coro()
    while (name := getattr(work, "__qualname__", None)) is not None:
        names.append(str(name))
        work = getattr(work, "cr_await", None)
    return " > ".join(names)
