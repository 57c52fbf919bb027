"""Times in buckets, quantiles from them, sampled requests, the counts of topics."""

import asyncio
import random

import pytest

from barnabas.broker.metrics.collect.requests import RecentTimes, title
from barnabas.broker.metrics.counts import ALL_TIMED, BOUNDS, SAMPLED, ApiCounts, Times, TopicTable, quantile
from barnabas.broker.metrics.machine import FreeSpace
from barnabas.model.errors import ErrorCode
from barnabas.wire.apis import METADATA, PRODUCE, SERVED


@pytest.mark.parametrize("share", [0.5, 0.75, 0.99, 0.999])
def test_a_quantile_is_wrong_by_no_more_than_its_bucket_is_wide(share: float) -> None:
    rng = random.Random(7)
    values = sorted(rng.lognormvariate(-6, 1.5) for _ in range(20_000))
    times = Times()
    for value in values:
        times.add(value)
    exact = values[int(share * len(values))]
    found = quantile(times.buckets, share)
    assert found is not None and exact / 1.7 < found < exact * 1.7
    assert times.count == len(values)
    assert times.seconds == pytest.approx(sum(values))


def test_nothing_has_no_quantile_and_what_is_beyond_all_bounds_has_the_last() -> None:
    times = Times()
    assert quantile(times.buckets, 0.5) is None
    times.add(1_000.0)
    assert quantile(times.buckets, 0.5) == BOUNDS[-1]


def serve(counts: ApiCounts, requests: int) -> int:
    """As the dispatcher does; gives how many were timed."""
    timed = 0
    for _ in range(requests):
        left = counts.left = counts.left - 1
        if not left:
            timed += 1
            counts.timed(b"an answer", 0.0)
    return timed


def test_every_request_is_counted_and_the_first_ones_are_timed() -> None:
    counts = ApiCounts(SERVED[METADATA])
    assert counts.requests == 0
    assert serve(counts, 100) == 100
    assert counts.requests == counts.times.count == 100


def test_later_one_in_many_is_timed_and_stands_for_all() -> None:
    counts = ApiCounts(SERVED[METADATA])
    timed = serve(counts, 100_000)
    assert counts.requests == 100_000
    assert timed == ALL_TIMED + (100_000 - ALL_TIMED) // SAMPLED
    assert 100_000 - SAMPLED < counts.times.count <= 100_000


def test_an_answer_that_waits_is_timed_when_it_is_there() -> None:
    async def work() -> tuple[int, int]:
        counts = ApiCounts(SERVED[PRODUCE])
        later: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        assert counts.timed(later, 0.0) is later
        before = counts.times.count
        later.set_result(b"")
        await asyncio.sleep(0)

        async def coroutine() -> bytes:
            return b"x"

        assert await counts.timed(coroutine(), 0.0) == b"x"
        return before, counts.times.count

    assert asyncio.run(work()) == (0, 2)


def test_quantiles_are_those_of_the_last_minutes() -> None:
    now = [0.0]
    recent, times = RecentTimes(lambda: now[0]), Times()
    times.add(10.0)
    assert sum(recent.since([times])[times]) == 1
    for minute in (61.0, 122.0):
        now[0] = minute
        recent.since([times])
    times.add(0.001)
    found = recent.since([times])[times]
    assert quantile(found, 0.99) == pytest.approx(0.001, rel=0.5)


def test_what_a_deleted_topic_had_stays_in_the_total() -> None:
    table = TopicTable()
    table.of("t").bytes_in += 5
    table.forget("t")
    assert table.items() == [] and table.elsewhere.bytes_in == 5
    table.failed_produce("t", ErrorCode.NOT_ENOUGH_REPLICAS)
    table.failed_produce("t", ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert (table.elsewhere.failed_produces, table.elsewhere.produces) == (1, 1)
    assert table.errors.counts == {(PRODUCE, ErrorCode.NOT_ENOUGH_REPLICAS): 1, (PRODUCE, 6): 1}


def test_a_disk_that_fills_up_has_an_end() -> None:
    free = FreeSpace()
    assert free.full_in_seconds(0.0, 1_000) is None
    for minute in range(11):
        free.add(minute * 60.0, 10_000 - minute * 100)
    assert free.full_in_seconds(600.0, 9_000) == pytest.approx(9_000 * 600 / 1_000)
    assert free.full_in_seconds(600.0, 10_000) is None, "it does not grow"


def test_an_api_is_spelled_as_in_kafka() -> None:
    assert title("list_offsets") == "ListOffsets"
