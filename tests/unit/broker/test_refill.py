"""The pace at which replicas that are not in sync are filled: it finds its rate by how late the loop is."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

from barnabas.broker.fetch.refill import ANSWER_LEAST, ANSWER_MOST, FIRST, LEAST, MOST, FollowerDelay, RefillPace

from .cluster import Cluster, run, until
from .test_replication import batch, create, isr, leader_of, produce, same

NOBODY = FollowerDelay()


class Loop:
    """A clock that a test sets, and the one timer."""

    def __init__(self) -> None:
        self.now = 100.0
        self.due: tuple[float, Any] | None = None

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, callback: Any) -> Any:
        self.due = (when, callback)
        return self

    def cancel(self) -> None:
        self.due = None

    def run(self, late: float = 0.0) -> None:
        assert self.due is not None
        (when, callback), self.due = self.due, None
        self.now = when + late
        callback()


def pace() -> tuple[RefillPace, Loop]:
    loop: Any = Loop()
    return RefillPace(loop), loop


def test_an_answer_has_a_bound_and_the_rest_comes_with_time() -> None:
    paced, loop = pace()
    assert paced.room() == ANSWER_LEAST
    paced.sent(ANSWER_LEAST, NOBODY)
    assert paced.room() == 0
    loop.now += paced.wait_seconds()
    assert ANSWER_LEAST / 2 - 1 <= paced.room() <= ANSWER_LEAST / 2 + 1
    loop.now += 60
    assert paced.room() == ANSWER_LEAST, "what was not used is not kept"
    paced.rate = float(MOST)
    loop.now += 60
    assert paced.room() == ANSWER_MOST


def test_a_late_loop_slows_it_down_to_a_least_rate_and_an_idle_one_lets_it_go() -> None:
    paced, loop = pace()
    for _ in range(10):
        paced.sent(1, NOBODY)
        loop.run(late=0.02)
    assert LEAST <= paced.rate < LEAST * 1.03
    rates = []
    for _ in range(60):
        paced.sent(1, NOBODY)
        loop.run()
        rates.append(paced.rate)
    assert rates == sorted(rates) and rates[-1] == MOST


def test_a_follower_that_takes_longer_than_its_quickest_slows_it_down() -> None:
    """By how much longer: the network may take 50 ms."""
    paced, loop = pace()
    follower = FollowerDelay()

    def cycle(seconds: float) -> float:
        paced.sent(1, follower)
        assert loop.due is not None
        loop.now += seconds
        paced.fetched(follower)
        loop.due, paced._due = (loop.now, loop.due[1]), loop.now  # the loop is on time
        before = paced.rate
        loop.run()
        return paced.rate / before

    assert [round(cycle(each), 1) for each in (0.050, 0.051, 0.052, 0.060, 0.050, 0.049)] == [
        1.1,
        1.1,
        1.1,
        0.5,
        1.1,
        1.1,
    ]
    paced.fetched(follower)
    loop.now += 5
    paced.fetched(follower)  # a fetch that was parked says nothing
    paced.sent(1, FollowerDelay())
    before = paced.rate
    loop.run()
    assert paced.rate > before


def test_nothing_runs_when_nothing_is_filled() -> None:
    paced, loop = pace()
    assert loop.due is None
    paced.sent(1, NOBODY)
    for _ in range(30):
        if loop.due is not None:
            loop.run()
    assert loop.due is None
    paced.sent(1, NOBODY)
    assert loop.due is not None
    paced.close()
    assert loop.due is None


def test_a_replica_that_is_behind_is_filled_while_another_partition_is_written_to(tmp_path: Path) -> None:
    """At the least rate, so that it takes a second: what is in sync on the same connection does not wait for it."""

    async def test() -> None:
        cluster = Cluster(tmp_path)
        await cluster.start()
        try:
            await create(cluster, partitions=2, min_insync_replicas="2")
            nodes = [await leader_of(cluster, index=index) for index in (0, 1)]
            number = next(each for each in cluster.nodes if cluster.nodes[each] not in nodes)
            cluster.kill(number)
            await until(lambda: number not in isr(cluster))
            node = await leader_of(cluster)
            for _ in range(24):
                assert (await produce(node, batch([b"x" * 500_000]))).error_code == 0
            for each in cluster.nodes.values():
                each.replication.refill.rate = float(LEAST)
                each.replication.refill._tick = lambda: None  # type: ignore[method-assign]
            begun = time.monotonic()
            await cluster.start(number)
            await until(lambda: number in isr(cluster, index=1))
            waits = []
            while number not in isr(cluster):
                asked = time.monotonic()
                assert (await produce(await leader_of(cluster, index=1), batch([b"y"]), index=1)).error_code == 0
                waits.append(time.monotonic() - asked)
                await asyncio.sleep(0.01)
            assert time.monotonic() - begun > 12_000_000 / LEAST - 0.5, "it was filled at the least rate"
            assert sorted(waits)[len(waits) // 2] < 0.25, waits
            await until(lambda: same(cluster))
        finally:
            cluster.drop()

    assert LEAST < FIRST
    run(test)


def test_the_floor_rises_while_the_rate_stands_on_it() -> None:
    """A leader that is always late would feed a follower more slowly than its log grows, for ever."""
    paced, loop = pace()
    for _ in range(20 * 60):
        paced.sent(1, NOBODY)
        loop.run(late=0.02)
    assert paced.rate > 10 * LEAST
    for _ in range(30):  # nothing is filled any more
        if loop.due is None:
            break
        loop.run()
    paced.rate = float(LEAST)
    paced.sent(1, NOBODY)
    loop.run(late=0.02)
    assert paced.rate < 1.01 * LEAST
