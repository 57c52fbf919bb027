"""A broker that left is still named for a moment and no longer, and not to Java's clients."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from barnabas.broker.network.session import Session
from barnabas.broker.peers import recently_departed
from barnabas.broker.peers.recently_departed import RecentlyDeparted
from tests.unit.cluster.stage import Stage


def told(software: str) -> Session:
    return Session("127.0.0.1", "127.0.0.1", 9092, software_name=software)


def test_who_left_is_named_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recently_departed, "NAMED_SECONDS", 0.02)

    async def story() -> None:
        departed = RecentlyDeparted()
        image = Stage(3).image
        gone = replace(image, brokers={**image.brokers, 2: replace(image.brokers[2], fenced=True)})
        departed.image_changed(image, image)
        assert not departed.ids
        departed.image_changed(image, gone)
        departed.image_changed(gone, replace(gone, offset=gone.offset + 1))
        assert departed.ids == {2}
        assert departed.named_to(told("librdkafka")) == departed.named_to(told("")) == {2}
        assert departed.named_to(told("apache-kafka-java")) == frozenset()
        await asyncio.sleep(0.05)
        assert not departed.ids
        departed.image_changed(image, gone)
        departed.close()
        assert not departed.ids

    asyncio.run(story())
