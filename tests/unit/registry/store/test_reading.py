"""Whoever waits for the reader waits as long as it gets on."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from barnabas.link.async_nodes import AsyncNodes
from barnabas.registry.errors import RegistryError
from barnabas.registry.store import reading
from barnabas.registry.store.reading import Reader


def reader() -> Reader:
    return Reader(lambda: cast(AsyncNodes, None), "_schemas", lambda record: None, lambda: None)


def test_a_large_topic_may_take_longer_than_one_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_REACHED_S", 0.2)

    async def load() -> None:
        loading = reader()
        waiting = asyncio.ensure_future(loading.reached(8))
        for position in range(1, 9):
            await asyncio.sleep(0.08)
            loading._advance(position)
        await waiting

    asyncio.run(load())


def test_a_topic_that_is_not_read_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_REACHED_S", 0.05)
    with pytest.raises(RegistryError, match="was not read up to offset 8 in time"):
        asyncio.run(reader().reached(8))
