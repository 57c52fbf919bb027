"""A broker that left is still named for a moment, and no longer."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from barnabas.broker import farewells as room
from barnabas.broker.farewells import Farewells
from tests.unit.cluster.stage import Stage


def test_who_left_is_named_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "NAMED_SECONDS", 0.02)

    async def story() -> None:
        farewells = Farewells()
        image = Stage(3).image
        gone = replace(image, brokers={**image.brokers, 2: replace(image.brokers[2], fenced=True)})
        farewells.image_changed(image, image)
        assert not farewells.ids
        farewells.image_changed(image, gone)
        farewells.image_changed(gone, replace(gone, offset=gone.offset + 1))
        assert farewells.ids == {2}
        await asyncio.sleep(0.05)
        assert not farewells.ids
        farewells.image_changed(image, gone)
        farewells.close()
        assert not farewells.ids

    asyncio.run(story())
