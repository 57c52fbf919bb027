"""What the callbacks of simulated nodes cost: time stands still while one runs, but the processor's work is real.

A node promises to hold its loop for LOOP_BUDGET_MS at most. Here the CPU time of every callback of a node is measured,
without the work it gave to threads; a run fails when one took ALLOWED_MS. That is several times the budget: the
simulator's own disk and network are part of it, and so is what Python imports and compiles the first time. The figure
is only reported: nothing in a run depends on it, so a seed stays the same history on any machine.
"""

import asyncio
from collections.abc import Iterator

ALLOWED_MS = 250


class CallbackCost:
    def __init__(self) -> None:
        self.worst_ns = 0
        self.worst_name = ""
        self.in_threads_ns = 0  # of work that a thread would do; not the loop's

    def took(self, nanoseconds: int, owner: str, callback: object) -> None:
        if nanoseconds > self.worst_ns:
            self.worst_ns = nanoseconds
            self.worst_name = f"{owner}: {_name(callback)}"

    @property
    def worst_ms(self) -> float:
        return self.worst_ns / 1e6

    def problems(self) -> Iterator[str]:
        if self.worst_ms > ALLOWED_MS:
            yield f"S10 the loop was held for {self.worst_ms:.0f} ms of CPU by {self.worst_name}"


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
