"""An idle link waits long at the source, and gives that wait up when a partition has to be named."""

import asyncio
from types import SimpleNamespace
from typing import Any

from barnabas.broker.cluster_links import fetcher as module
from barnabas.broker.cluster_links.fetcher import LinkFetcher
from barnabas.broker.cluster_links.topics import _config_changes
from barnabas.broker.replication.fetch_settings import FetchLimits

KEY = (bytes(16), 0)


def _fetcher(idle_for: float) -> Any:
    fetcher: Any = LinkFetcher.__new__(LinkFetcher)
    loop = asyncio.get_running_loop()
    fetcher._loop, fetcher._held, fetcher._due = loop, {}, {}
    fetcher._host = SimpleNamespace(limits=FetchLimits(500, 1, 1, 1, 1000, 1.0))
    fetcher._last_event = loop.time() - idle_for
    fetcher._waits_long, fetcher._under_way, fetcher._woken, fetcher.closed = False, 1, True, False
    fetcher._connection = SimpleNamespace(closed=False, close=lambda: setattr(fetcher, "was_closed", True))
    fetcher.was_closed = False
    return fetcher


def test_a_partition_does_not_wait_for_an_idle_fetch() -> None:
    async def story() -> None:
        fetcher = _fetcher(idle_for=module._IDLE_AFTER_SECONDS + 1)
        assert fetcher._limits.wait_ms == module._IDLE_WAIT_MS
        fetcher._fetch_soon(KEY)
        assert fetcher.was_closed
        assert fetcher._connection is None
        assert KEY in fetcher._due
        assert fetcher._limits.wait_ms == 500

    asyncio.run(story())


def test_a_busy_link_keeps_its_connection() -> None:
    async def story() -> None:
        fetcher = _fetcher(idle_for=0)
        assert fetcher._limits.wait_ms == 500
        fetcher._fetch_soon(KEY)
        assert not fetcher.was_closed

    asyncio.run(story())


def test_zones_of_the_source_are_not_those_of_this_cluster() -> None:
    here: Any = SimpleNamespace(configs={"min.insync.zones": "2", "leader.preferred.racks": "a", "retention.ms": "5"})
    assert _config_changes(here, {"retention.ms": "5"}) == []
