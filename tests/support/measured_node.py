"""`python -m tests.support.measured_node FILE up ...`: a node that writes down each callback that held its loop.

The node runs on asyncio's own loop instead of uvloop, which has no hook around a callback. What is measured is the CPU
time of the loop's thread, not the time on the clock: other work on the machine does not count. One line for each
callback of NOTED_MS or more: milliseconds, how many of them were the garbage collector's, and whose callback it was.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import time
from asyncio import events
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

NOTED_MS = int(os.environ.get("NOTED_MS", "15"))


class Held(NamedTuple):
    milliseconds: int
    collecting_ms: int
    name: str


def read(file: Path, start: int = 0) -> list[Held]:
    """What was written since the file had `start` bytes."""
    lines = file.read_bytes()[start:].decode().splitlines()
    return [Held(int(ms), int(collecting), name) for ms, collecting, name in (line.split(" ", 2) for line in lines)]


def _name(callback: Any) -> str:
    owner = getattr(callback, "__self__", None)
    if isinstance(owner, asyncio.Task):
        return str(getattr(owner.get_coro(), "__qualname__", owner.get_name()))
    name = str(getattr(callback, "__qualname__", callback))
    protocol = owner.get_protocol() if isinstance(owner, asyncio.BaseTransport) else None
    return f"{name} of {type(protocol).__name__}" if protocol else name


def measure(file: Path) -> None:
    """Of every loop of this process from now on."""
    out = file.open("a", buffering=1)
    run, clock = events.Handle._run, time.thread_time_ns
    collected = [0, 0]  # nanoseconds in all, when the present one began

    def collecting(phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            collected[1] = clock()
        else:
            collected[0] += clock() - collected[1]

    def measured(handle: events.Handle) -> None:
        callback, before, began = handle._callback, collected[0], clock()  # type: ignore[attr-defined]
        run(handle)
        milliseconds = (clock() - began) // 1_000_000
        if milliseconds >= NOTED_MS:
            out.write(f"{milliseconds} {(collected[0] - before) // 1_000_000} {_name(callback)}\n")

    gc.callbacks.append(collecting)
    events.Handle._run = measured  # type: ignore[method-assign, assignment]


def main() -> None:
    measure(Path(sys.argv[1]))
    sys.modules["uvloop"] = SimpleNamespace(run=asyncio.run)  # type: ignore[assignment]
    del sys.argv[1]
    from barnabas.cli.main import main as barnabas

    barnabas()


if __name__ == "__main__":
    main()
