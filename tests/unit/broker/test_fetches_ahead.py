"""Fetches that a follower of a distant leader sends ahead (broker/replication/fetches_ahead.py)."""

import asyncio
from pathlib import Path

import pytest

from barnabas.broker.fetch.follower_sessions import FollowerSession
from barnabas.broker.partition.follower_log import FollowerLog
from barnabas.broker.replication import fetches_ahead
from barnabas.broker.replication.fetches_ahead import AHEAD_MAX, DISTANT_SECONDS, FetchesAhead
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.storage.damage import Damage

from .cluster import Cluster, run, until
from .test_replication import batch, create, produced, replicas, same, values


def test_one_fetch_to_a_leader_that_is_near() -> None:
    ahead = FetchesAhead(allowed=True)
    ahead.answered(DISTANT_SECONDS / 2, now=1.0, in_session=True)
    ahead.received(1.0)
    assert ahead.count(1.0, wait_ms=500) == 1
    assert not ahead.continue_each_other


def test_the_farther_the_more_while_records_come() -> None:
    ahead = FetchesAhead(allowed=True)
    ahead.answered(DISTANT_SECONDS, now=1.0, in_session=True)
    assert ahead.count(1.0, wait_ms=500) == 1  # nothing has come yet
    ahead.received(1.0)
    assert ahead.count(1.1, wait_ms=500) == 2
    ahead.answered(1.0, now=8.0, in_session=True)  # what was measured long ago no longer counts
    ahead.received(8.0)
    assert ahead.count(8.0, wait_ms=500) == AHEAD_MAX
    assert ahead.count(8.6, wait_ms=500) == 1


def test_once_they_continue_each_other_they_go_on_to() -> None:
    ahead = FetchesAhead(allowed=True)
    ahead.answered(DISTANT_SECONDS, now=1.0, in_session=True)
    ahead.answered(DISTANT_SECONDS / 10, now=1.1, in_session=True)
    assert ahead.continue_each_other
    assert ahead.count(1.1, wait_ms=500) == 1


@pytest.fixture
def distant(monkeypatch: pytest.MonkeyPatch) -> None:
    """All followers take their leaders for distant."""
    monkeypatch.setattr(fetches_ahead, "DISTANT_SECONDS", 1e-6)


async def _filled(cluster: Cluster, count: int) -> None:
    await create(cluster)
    for number in range(count):
        await produced(cluster, batch([b"%d" % number]))


@pytest.mark.usefixtures("distant")
def test_records_are_sent_before_the_last_are_acknowledged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[int] = []
    serve = FollowerSession.serve

    def watched(self: FollowerSession) -> None:
        waited.append(len(self.waiting))
        serve(self)

    monkeypatch.setattr(FollowerSession, "serve", watched)

    async def story() -> None:
        cluster = Cluster(tmp_path)
        await cluster.start()
        try:
            await _filled(cluster, 50)
            await until(lambda: same(cluster))
            assert max(waited) > 2
            assert values(replicas(cluster)[0]) == [b"%d" % number for number in range(50)]
        finally:
            cluster.drop()

    run(story)


@pytest.mark.usefixtures("distant")
def test_what_a_follower_could_not_append_is_sent_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing that was on its way behind it is appended before."""
    append, calls, failures = FollowerLog.append, 0, 0

    def failing(self: FollowerLog, records: memoryview) -> None:
        nonlocal calls, failures
        if self._opened.partition.id.topic == "t":
            calls += 1
            if calls % 5 == 3:
                failures += 1
                raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "planted")
        append(self, records)

    monkeypatch.setattr(FollowerLog, "append", failing)

    async def story() -> None:
        cluster = Cluster(tmp_path, min_insync_replicas="1")
        await cluster.start()
        try:
            await create(cluster)

            async def write(first: int) -> None:
                for number in range(first, first + 20):
                    await produced(cluster, batch([b"%d" % number]))

            await asyncio.gather(*(write(first) for first in (0, 20, 40)))
            await until(lambda: same(cluster))
            assert failures
            held = [values(replica) for replica in replicas(cluster)]
            assert held[0] == held[1] == held[2]
            assert sorted(held[0]) == sorted(b"%d" % number for number in range(60))
        finally:
            cluster.drop()

    run(story)


@pytest.mark.usefixtures("distant")
def test_a_follower_that_finds_damage_is_filled_from_the_first_record_on(tmp_path: Path) -> None:
    async def story() -> None:
        cluster = Cluster(tmp_path)
        await cluster.start()
        try:
            await _filled(cluster, 20)
            damaged = next(replica for replica in replicas(cluster) if not replica.is_leader).open().log
            for number in range(20):
                if number == 10:
                    damaged.damages.add(Damage(damaged.segments[0].path, 0, "planted"))
                await produced(cluster, batch([b"%d" % number]))
            await until(lambda: same(cluster))
            assert not damaged.damages
        finally:
            cluster.drop()

    run(story)
