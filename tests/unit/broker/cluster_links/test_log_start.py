"""A linked log begins where the source's does, as soon as that much is committed here."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.broker.cluster_links import fetcher as module
from barnabas.broker.cluster_links.fetcher import LinkFetcher


class Opened:
    """Three records that came just now, of which the source has deleted two; nothing is committed."""

    def __init__(self) -> None:
        self.high_watermark = 0
        self.log = SimpleNamespace(log_start_offset=0, log_end_offset=3)
        self.follower = self
        self.aborted = SimpleNamespace(forget_before=lambda offset: None)
        self.partition = SimpleNamespace(leadership=SimpleNamespace(recheck_followers=lambda: None))

    def advance_log_start(self, offset: int) -> bool:
        self.log.log_start_offset = max(self.log.log_start_offset, min(offset, self.high_watermark))
        return True


def test_a_start_that_is_not_committed_yet_is_followed_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_START_AGAIN_S", 0.005)

    async def story() -> None:
        opened: Any = Opened()
        followed: Any = SimpleNamespace(partition=SimpleNamespace(opened=opened, deleted=False))
        key = (bytes(16), 0)
        fetcher: Any = LinkFetcher.__new__(LinkFetcher)
        fetcher._loop, fetcher._starts, fetcher._busy = asyncio.get_running_loop(), {}, set()
        fetcher._followed, fetcher.closed = {key: followed}, False
        fetcher._follow_start(key, followed, opened, 2)
        assert opened.log.log_start_offset == 0
        await asyncio.sleep(0.02)
        opened.high_watermark = 3
        async with asyncio.timeout(5):
            while opened.log.log_start_offset < 2:
                await asyncio.sleep(0.005)
        await asyncio.sleep(0.02)
        assert fetcher._starts == {}

    asyncio.run(story())
