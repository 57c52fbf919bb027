"""Fetch sessions (KIP-227): what is remembered, what is refused, who gives way."""

import random
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.broker.fetch.sessions import FetchSessions, served_with_data
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import ZERO_UUID


def partition(index: int, offset: int = 0) -> Any:
    return SimpleNamespace(
        partition=index, fetch_offset=offset, current_leader_epoch=-1, last_fetched_epoch=-1, partition_max_bytes=100
    )


def request(
    session_id: int, epoch: int, topics: dict[str, list[Any]], forgotten: dict[str, list[int]] | None = None
) -> Any:
    return SimpleNamespace(
        session_id=session_id,
        session_epoch=epoch,
        topics=[SimpleNamespace(topic=name, topic_id=ZERO_UUID, partitions=parts) for name, parts in topics.items()],
        forgotten_topics_data=[
            SimpleNamespace(topic=name, topic_id=ZERO_UUID, partitions=parts)
            for name, parts in (forgotten or {}).items()
        ],
    )


def sessions(slots: int = 10, partitions_max: int = 1_000) -> FetchSessions:
    return FetchSessions(slots, idle_ms=1000, rng=random.Random(7), partitions_max=partitions_max)


def code(cache: FetchSessions, asked: Any, version: int = 12) -> ErrorCode:
    with pytest.raises(KafkaError) as refused:
        cache.plan(asked, version, 0)
    return refused.value.code


def test_without_a_session_nothing_is_remembered() -> None:
    cache = sessions()
    plan = cache.plan(request(0, -1, {"a": [partition(0)]}), 12, 0)
    assert plan.session_id == 0 and not plan.incremental and len(cache) == 0


def test_a_session_remembers_changes_and_forgets_on_request() -> None:
    cache = sessions()
    first = cache.plan(request(0, 0, {"a": [partition(0), partition(1)]}), 12, 0)
    assert first.session_id > 0
    second = cache.plan(request(first.session_id, 1, {"a": [partition(1, offset=5)]}), 12, 0)
    assert [(w.index, w.fetch_offset) for w in second.wanted] == [(0, 0), (1, 5)] and second.incremental
    third = cache.plan(request(first.session_id, 2, {"b": [partition(3)]}, {"a": [0]}), 12, 0)
    assert [(w.topic, w.index) for w in third.wanted] == [("a", 1), ("b", 3)]


def test_the_wrong_epoch_or_id_begins_anew() -> None:
    cache = sessions()
    opened = cache.plan(request(0, 0, {"a": [partition(0)]}), 12, 0)
    assert code(cache, request(opened.session_id, 2, {})) is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert code(cache, request(opened.session_id + 1, 1, {})) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert code(cache, request(opened.session_id, 1, {}), 13) is ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_a_partition_that_gave_data_goes_to_the_back() -> None:
    cache = sessions()
    opened = cache.plan(request(0, 0, {"a": [partition(0), partition(1)]}), 12, 0)
    served_with_data(opened, opened.wanted[0])
    again = cache.plan(request(opened.session_id, 1, {}), 12, 0)
    assert [w.index for w in again.wanted] == [1, 0]


def test_a_full_cache_serves_without_a_session_until_one_is_idle() -> None:
    cache = sessions(slots=1)
    first = cache.plan(request(0, 0, {"a": [partition(0)]}), 12, 0)
    assert cache.plan(request(0, 0, {"a": [partition(0)]}), 12, 500).session_id == 0
    assert cache.plan(request(0, 0, {"a": [partition(0)]}), 12, 1500).session_id > 0
    assert code(cache, request(first.session_id, 1, {})) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_only_news_are_told_twice() -> None:
    cache = sessions()
    wanted = cache.plan(request(0, 0, {"a": [partition(0)]}), 12, 0).wanted[0]
    assert wanted.has_changed(10, 0)
    wanted.remember(10, 0)
    assert not wanted.has_changed(10, 0)
    assert wanted.has_changed(11, 0)
    assert wanted.has_changed(10, 1)


def test_a_fetch_of_too_many_partitions_has_no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.broker.fetch.sessions.FETCH_SESSION_PARTITIONS_MAX", 2)
    cache = sessions()
    assert cache.plan(request(0, 0, {"a": [partition(i) for i in range(3)]}), 12, 0).session_id == 0
    opened = cache.plan(request(0, 0, {"a": [partition(0), partition(1)]}), 12, 0)
    assert code(cache, request(opened.session_id, 1, {"a": [partition(2)]})) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert len(cache) == 0


def test_of_too_many_partitions_together_the_largest_session_pays() -> None:
    cache = sessions(partitions_max=100)
    small = cache.plan(request(0, 0, {"a": [partition(i) for i in range(10)]}), 12, 0)
    large = cache.plan(request(0, 0, {"b": [partition(i) for i in range(60)]}), 12, 0)
    assert cache.partitions == 70
    other = cache.plan(request(0, 0, {"c": [partition(i) for i in range(50)]}), 12, 0)
    assert other.session_id and cache.partitions == 60
    assert code(cache, request(large.session_id, 1, {})) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert cache.plan(request(0, 0, {"d": [partition(i) for i in range(90)]}), 12, 0).session_id == 0
    cache.plan(request(small.session_id, 1, {"a": [partition(i) for i in range(45)]}), 12, 0)
    assert cache.partitions == 95
    assert code(cache, request(small.session_id, 2, {"e": [partition(i) for i in range(40)]})) is (
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    )
    assert cache.partitions == 50


def test_a_partition_named_twice_is_one() -> None:
    cache = sessions()
    assert [
        w.index for w in cache.plan(request(0, -1, {"a": [partition(0), partition(1), partition(0)]}), 12, 0).wanted
    ] == [0, 1]
