"""What holds the loop is noticed and named; what does not is not."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import runpy
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import uvloop

from barnabas.broker.metrics.loop_watchdog import Hold, LoopHolds, LoopWatchdog
from barnabas.broker.network.context import RequestContext
from barnabas.broker.network.session import Session
from barnabas.model.limits import LOOP_HOLD_SITES_MAX
from barnabas.wire.apis import DESCRIBE_CONFIGS


def watched(work: Callable[[asyncio.AbstractEventLoop], None], seconds: float = 0.4) -> list[Hold]:
    """The holds seen while `work`, called in the loop, and what it schedules, runs."""
    holds: list[Hold] = []

    async def run() -> None:
        watchdog = LoopWatchdog(holds.append)
        watchdog.start()
        try:
            await asyncio.sleep(0.06)
            asyncio.get_running_loop().call_soon(work, asyncio.get_running_loop())
            await asyncio.sleep(0)  # until it has run, however long that takes on a busy machine
            await asyncio.sleep(seconds)
        finally:
            watchdog.stop()

    uvloop.run(run())
    return holds


def spin(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_a_callback_that_computes() -> None:
    (hold,) = watched(lambda _: spin(0.25))
    assert 50 <= hold.milliseconds <= 400  # it is seen from the first look on, which is late on a busy machine
    assert "spin" in hold.where or "lambda" in hold.where


def test_a_callback_that_waits() -> None:
    (hold,) = watched(lambda _: time.sleep(0.25))
    assert 50 <= hold.milliseconds <= 400  # it is seen from the first look on, which is late on a busy machine


def test_a_request_to_another_node_is_no_request_that_is_served(tmp_path: Path) -> None:
    """What asks other nodes has an `api_key` and a `connection` too, which knows no client."""
    file = tmp_path / "barnabas" / "asking.py"
    file.parent.mkdir()
    file.write_text("def ask(api_key, connection, work): work()\n")
    ask = runpy.run_path(str(file))["ask"]
    (hold,) = watched(lambda _: ask(3, object(), lambda: spin(0.25)))
    assert "ask" in hold.where and hold.request == ""


def test_calls_into_c_that_keep_the_interpreter() -> None:
    values = list(range(1_000_000, 0, -1)) + list(range(1_000_000))

    def sort(_: asyncio.AbstractEventLoop) -> None:
        end = time.thread_time() + 0.5
        while time.thread_time() < end:
            sorted(values)

    holds = watched(sort)
    assert holds
    assert all("sort" in hold.where for hold in holds)


def test_many_short_callbacks_hold_nothing() -> None:
    async def busy() -> None:
        for _ in range(150):
            spin(0.002)
            await asyncio.sleep(0)

    def begin(loop: asyncio.AbstractEventLoop) -> None:
        loop.task = loop.create_task(busy())  # type: ignore[attr-defined]
        for _ in range(60):
            loop.call_soon(spin, 0.002)

    assert watched(begin, 0.8) == []


def test_threads_hold_nothing() -> None:
    data = bytes(1 << 20)

    def begin(loop: asyncio.AbstractEventLoop) -> None:
        for _ in range(4):
            loop.run_in_executor(None, lambda: [hashlib.sha256(data).digest() for _ in range(100)])

    assert watched(begin) == []


def test_the_function_and_the_request_are_named() -> None:
    source = "def handle(context):\n    return slow()\ndef slow():\n    spin(0.2)\n"
    module: dict[str, Any] = {"spin": spin}
    exec(compile(source, "/lib/barnabas/broker/api/slow.py", "exec"), module)  # noqa: S102 - code of ours, by its path
    context = RequestContext(DESCRIBE_CONFIGS, 4, 1, "app", Session("10.0.0.7"))
    (hold,) = watched(lambda _: module["handle"](context))
    assert hold.where == "broker.api.slow slow"
    assert hold.request == "describe_configs from 10.0.0.7 (client id app)"


def test_counters_are_bounded_and_logging_is_rare(caplog: pytest.LogCaptureFixture) -> None:
    holds = LoopHolds()
    with caplog.at_level(logging.WARNING):
        for number in range(LOOP_HOLD_SITES_MAX * 2):
            holds.record(Hold(60 + number, f"f{number}", "metadata from here"), 100.0)
        holds.record(Hold(70, "f0", ""), 111.0)
    figures = holds.figures()
    assert (figures["holds"], figures["worst_ms"]) == (101, 159)
    assert len(figures["sites"]) == LOOP_HOLD_SITES_MAX
    assert figures["sites"]["f0"] == {"holds": 2, "worst_ms": 70}
    assert len(caplog.records) == 2
    assert "99 more since the last such line" in caplog.text


def test_the_thread_ends_with_its_loop() -> None:
    """A node that was never stopped, as after a kill in a test, leaves no thread that looks for ever."""
    before = set(threading.enumerate())

    async def abandon() -> None:
        LoopWatchdog(lambda hold: None).start()

    asyncio.run(abandon())
    (started,) = set(threading.enumerate()) - before
    started.join(10)
    assert not started.is_alive()
