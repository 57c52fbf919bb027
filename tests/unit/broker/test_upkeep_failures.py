"""Background work over partitions: one that fails is named, backed off, counted and shown; the others go on."""

import asyncio
import logging
import time
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.broker import clock
from barnabas.broker.metrics.health import Health
from barnabas.broker.upkeep.failures import UpkeepFailures
from barnabas.broker.upkeep.rounds import PartitionTask, run_round


class Stub:
    """As much of a partition as a round looks at."""

    deleted = False

    def __init__(self, name: str) -> None:
        self.id = name


class Fails(PartitionTask):
    name = "retention"

    def __init__(self, broken: set[str]) -> None:
        self.broken = broken
        self.tried: list[str] = []

    def wants(self, partition: Any) -> bool:
        return True

    async def run(self, partition: Any) -> None:
        self.tried.append(partition.id)
        if partition.id in self.broken:
            raise missing(partition.id)


def missing(partition: str) -> FileNotFoundError:
    return FileNotFoundError(2, "No such file or directory", f"/data/{partition}/0.log")


def test_one_partition_fails_and_the_others_go_on(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        health = Health()
        failures = UpkeepFailures(health)
        task = Fails({"a-1"})
        partitions: Any = [Stub("a-0"), Stub("a-1"), Stub("a-2")]
        for _ in range(3):
            await run_round(task, partitions, failures)
        # Backed off: tried once in three rounds, while the others had their turn in each.
        assert [task.tried.count(name) for name in ("a-0", "a-1", "a-2")] == [3, 1, 3]
        (line,) = [record.getMessage() for record in caplog.records]
        assert "retention of a-1 failed" in line and "/data/a-1/0.log" in line and "restart the node" in line
        (problem,) = health.problems()
        assert (problem.what, problem.subject, problem.times) == ("retention", "a-1", 1)
        assert "restart the node" in problem.way_out
        # Each failure doubles the wait, up to an hour, and is not logged again.
        waits = []
        for _ in range(12):
            failures.failed("retention", "a-1", missing("a-1"))
            waits.append(failures._failing["retention", "a-1"].due - asyncio.get_running_loop().time())
        assert waits[0] == pytest.approx(30, abs=1) and waits[-1] == pytest.approx(3600, abs=1)
        assert len(caplog.records) == 1
        assert health.problems()[0].times == 13
        # Mended: said once, and no problem any more.
        task.broken.clear()
        failures._failing["retention", "a-1"].due = 0.0
        await run_round(task, partitions, failures)
        assert "works again" in caplog.records[-1].getMessage()
        assert not len(failures) and not health.problems()

    caplog.set_level(logging.WARNING)
    asyncio.run(test())


def test_a_disk_that_fails_for_all_does_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        failures = UpkeepFailures(Health())
        names = [f"t-{number}" for number in range(3000)]
        partitions: Any = [Stub(name) for name in names]
        await run_round(Fails(set(names)), partitions, failures)
        assert len(caplog.records) == 11
        again = Fails(set(names))
        await run_round(again, partitions, failures)
        assert not again.tried
        failures.keep_only({"t-1"}.__contains__)  # the topic was deleted
        assert len(failures) == 1

    asyncio.run(test())


def test_a_mistake_of_ours_is_logged_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        UpkeepFailures(Health()).failed("retention", "t-0", KeyError("x"))
        assert caplog.records[0].exc_info and "KeyError" in caplog.records[0].getMessage()

    asyncio.run(test())


def test_a_round_over_many_partitions_gives_the_loop_back() -> None:
    class Slow(Fails):
        async def run(self, partition: Any) -> None:
            begun = time.thread_time()
            while time.thread_time() < begun + 0.0002:  # 0.2 ms each, without an await
                pass

    async def test() -> None:
        longest, running = 0.0, True

        async def watch() -> None:
            nonlocal longest
            while running:
                begun = time.thread_time()
                await asyncio.sleep(0)
                longest = max(longest, time.thread_time() - begun)

        watcher = asyncio.ensure_future(watch())
        partitions: Any = [Stub(f"t-{number}") for number in range(2000)]
        await run_round(Slow(set()), partitions, UpkeepFailures(Health()))
        running = False
        await watcher
        assert longest < 0.05  # all of them: 0.4 s

    asyncio.run(test())


def test_others_have_their_turn_while_nothing_is_to_be_done_and_the_clock_is_hardly_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Idle(Fails):
        def wants(self, partition: Any) -> bool:
            return False

    async def test() -> None:
        turns, over = 0, False

        async def others() -> None:
            nonlocal turns
            while not over:
                turns += 1
                await asyncio.sleep(0)

        beside = asyncio.ensure_future(others())
        partitions: Any = [Stub(f"t-{number}") for number in range(10_000)]
        await run_round(Idle(set()), partitions, UpkeepFailures(Health()))
        over = True
        await beside
        assert turns >= 10_000 // 256
        assert asked <= turns + 2

    asked = 0

    def monotonic() -> float:
        nonlocal asked
        asked += 1
        return 0.0

    monkeypatch.setattr(clock, "source", SimpleNamespace(monotonic=monotonic))
    asyncio.run(test())
