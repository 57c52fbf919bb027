"""A query's offsets in its group while connections break, coordinators load and move, and rights are missing."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import cast

import pytest

from barnabas import Admin, NotAllowed, Producer
from barnabas.client.errors import BarnabasError
from barnabas.pipelines.framework.progress import watching
from barnabas.pipelines.framework.progress.lags import Lags
from barnabas.pipelines.source import group_commits
from barnabas.pipelines.source.group_commits import GroupCommits
from barnabas.testing import RunningNode, running_node
from tests.support.members import until

OFFSETS = {("orders", 0): 7, ("orders", 1): 9}


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    with running_node({"offsets.topic.num.partitions": 1}) as running:
        with Admin(running.bootstrap) as admin:
            admin.create_topic("orders", partitions=2)
        yield running


@pytest.fixture
def commits(node: RunningNode) -> Iterator[GroupCommits]:
    made = GroupCommits(node.bootstrap, "spark-report", "test", {})
    yield made
    made.close()
    node.heal()


def committed(node: RunningNode) -> dict[tuple[str, int], int]:
    with Admin(node.bootstrap) as admin:
        found = admin.describe_group("spark-report", with_seconds=False).partitions
    return {(each.topic, each.partition): each.committed for each in found if each.committed is not None}


def test_offsets_are_those_of_the_group(node: RunningNode, commits: GroupCommits) -> None:
    commits.commit(OFFSETS)
    assert committed(node) == OFFSETS
    commits.commit({("orders", 0): 8})
    assert committed(node) == OFFSETS | {("orders", 0): 8}


@pytest.mark.parametrize("api", ["OffsetCommit", "FindCoordinator"])
def test_a_connection_that_breaks_is_opened_anew(node: RunningNode, commits: GroupCommits, api: str) -> None:
    node.disconnect_next(api, times=3)
    offsets = {("orders", 0): 20 + len(api)}
    commits.commit(offsets)
    assert committed(node)["orders", 0] == offsets["orders", 0]


@pytest.mark.parametrize("error", ["COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE"])
def test_what_passes_is_asked_again(node: RunningNode, commits: GroupCommits, error: str) -> None:
    node.fail_next("OffsetCommit", error, times=2)
    node.fail_next("FindCoordinator", "COORDINATOR_NOT_AVAILABLE")
    offsets = {("orders", 1): 40 + len(error)}
    commits.commit(offsets)
    assert committed(node)["orders", 1] == offsets["orders", 1]


def test_what_was_committed_is_read_back(node: RunningNode, commits: GroupCommits) -> None:
    others = GroupCommits(node.bootstrap, "spark-nothing", "test", {})
    assert others.committed() == {}
    others.close()
    commits.commit(OFFSETS)
    node.disconnect_next("OffsetFetch", times=2)
    assert commits.committed() == OFFSETS


def test_the_lag_of_a_run(node: RunningNode) -> None:
    with closing(GroupCommits(node.bootstrap, "spark-lag", "test", {})) as mine:
        mine.commit({("orders", 0): 0, ("orders", 1): 0})
    with Producer(node.bootstrap) as producer:
        for _ in range(3):
            producer.send("orders", b"one", partition=1)
    with closing(Lags(node.bootstrap)) as lags:
        assert lags.of("spark-nothing") == []
        node.disconnect_next("OffsetFetch")
        rows = {each.partition: each for each in lags.of("spark-lag")}
    assert [rows[each].lag_records for each in (0, 1)] == [0, 3]
    assert rows[1].lag_seconds is not None and 0 <= rows[1].lag_seconds < 60


def test_a_right_that_is_missing_is_told_at_once(node: RunningNode, commits: GroupCommits) -> None:
    node.fail_next("OffsetCommit", "GROUP_AUTHORIZATION_FAILED")
    begun = time.monotonic()
    with pytest.raises(NotAllowed, match="commit offsets of group spark-report"):
        commits.commit(OFFSETS)
    assert time.monotonic() - begun < group_commits.COMMIT_WITHIN_S / 2


def test_it_gives_up(node: RunningNode, commits: GroupCommits, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commits, "COMMIT_WITHIN_S", 0.5)
    node.disconnect_next("OffsetCommit", times=-1)
    with pytest.raises(BarnabasError, match="commit offsets of group spark-report: no answer from"):
        commits.commit(OFFSETS)


def test_a_run_asks_for_its_lag_while_it_goes_on(node: RunningNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "LAG_EVERY_S", 0.05)
    with closing(GroupCommits(node.bootstrap, "spark-run", "test", {})) as mine:
        mine.commit({("orders", 0): 0, ("orders", 1): 0})
    context = SimpleNamespace(groups=lambda: {"spark-run": {"orders"}})
    run = SimpleNamespace(wanted=SimpleNamespace(bootstrap=node.bootstrap), context=context)
    watcher = SimpleNamespace(_run=run, _ends=threading.Event(), _lag=(None, None))
    asking = threading.Thread(target=watching.Watch._ask_lag, args=(cast(watching.Watch, watcher),))
    asking.start()
    try:
        until(lambda: watcher._lag[0] is not None, "a lag", 30)
    finally:
        watcher._ends.set()
        asking.join()
