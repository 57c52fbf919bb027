"""Producers that wait on a broker which the controller no longer counts in are sent elsewhere."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest

from barnabas.broker.api import api_versions
from barnabas.broker.controller import contact as module
from barnabas.broker.controller import lifecycle
from barnabas.broker.controller.contact import ControllerContact, Deadline
from barnabas.broker.controller.doubted_leaders import DoubtedLeaders
from barnabas.broker.controller.lifecycle import Lifecycle
from barnabas.core.cluster.image import MetadataImage, PartitionImage, TopicImage
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.testing import running_node
from tests.support.wire import API_VERSIONS, METADATA, WireClient

SESSION_MS, HOUR_MS = 50, 3_600_000
LONG_SESSION_MS = 500  # where a controller has to answer in time: a busy machine holds up a test for tens of them
EVERYTHING = {"topics": None, "allow_auto_topic_creation": False, "include_topic_authorized_operations": False}


@pytest.fixture(autouse=True)
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE_WHEN_LOST_SECONDS", 0.01)


def _refusal(
    timeout_ms: int, beat: Callable[[ControllerContact], Awaitable[None]], session_ms: int = SESSION_MS
) -> KafkaError | None:
    """Of a producer that waits while `beat` goes on; None: nothing was refused."""

    async def story() -> KafkaError | None:
        contact = ControllerContact(lambda: session_ms)
        found: list[KafkaError] = []
        contact.answered()
        deadline = Deadline(contact, timeout_ms, found.append)
        await beat(contact)
        deadline.cancel()
        return found[0] if found else None

    return asyncio.run(story())


async def _goes_on(contact: ControllerContact) -> None:
    for _ in range(24):
        contact.answered()
        await asyncio.sleep(LONG_SESSION_MS / 10_000)


async def _is_silent(contact: ControllerContact) -> None:
    await asyncio.sleep(SESSION_MS * 4 / 1000)


def test_a_leader_without_a_controller_says_that_another_may_lead() -> None:
    refused = _refusal(HOUR_MS, _is_silent)
    assert refused is not None
    assert refused.code is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_with_a_controller_a_producer_waits_as_long_as_it_said() -> None:
    assert _refusal(HOUR_MS, _goes_on, LONG_SESSION_MS) is None
    refused = _refusal(120, _goes_on, LONG_SESSION_MS)
    assert refused is not None
    assert refused.code is ErrorCode.REQUEST_TIMED_OUT


def test_who_comes_later_is_told_sooner_until_the_controller_is_back() -> None:
    async def story() -> None:
        contact = ControllerContact(lambda: SESSION_MS)
        contact.answered()
        assert contact.patience_seconds == SESSION_MS / 1000
        await asyncio.sleep(SESSION_MS * 2 / 1000)
        assert contact.is_lost()
        assert contact.patience_seconds < SESSION_MS / 1000
        contact.answered()
        assert not contact.is_lost()
        assert contact.patience_seconds == SESSION_MS / 1000

    asyncio.run(story())


def test_clients_of_a_broker_that_is_cut_off_are_told_what_is_known_and_sent_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lifecycle, "CUT_OFF_PAUSE_SECONDS", 0.3)
    monkeypatch.setattr(api_versions, "CUT_OFF_PAUSE_SECONDS", 0.3)
    with running_node() as node:
        old = WireClient(node.bootstrap)
        old.call(METADATA, 12, EVERYTHING)
        monkeypatch.setattr(Lifecycle, "is_cut_off", True)
        time.sleep(0.4)
        begun = time.monotonic()
        new = WireClient(node.bootstrap)
        new.call(API_VERSIONS, 0, {})
        assert time.monotonic() - begun >= 0.3
        new = WireClient(node.bootstrap)
        assert old.call(METADATA, 12, EVERYTHING)["brokers"]  # what is known is told all the same
        with pytest.raises(ConnectionError):
            old.call(METADATA, 12, EVERYTHING)
        for _ in range(2):  # it has just come: whoever looks at a cluster without a quorum asks more than one thing
            assert new.call(METADATA, 12, EVERYTHING)["brokers"]


def _partition(leader: int, *isr: int) -> PartitionImage:
    return PartitionImage(leader, 0, (1, 2, 3), isr, 0, (bytes(16),) * 3)


def _told(silent: frozenset[int]) -> list[int]:
    """The leaders of two partitions, as clients are told of them by a broker without a controller."""

    async def story() -> list[int]:
        topic = TopicImage("t", bytes(16), (_partition(1, 1, 2), _partition(1, 1, 3)), {})
        told = DoubtedLeaders(lambda: silent).told(MetadataImage(topics={"t": topic}))
        return [partition.leader for partition in told.topics["t"].partitions]

    return asyncio.run(story())


def test_a_leader_that_cannot_commit_is_named_no_longer() -> None:
    assert _told(frozenset({3})) == [1, -1]


def test_a_cluster_whose_controllers_are_down_has_its_leaders() -> None:
    assert _told(frozenset()) == [1, 1]
