"""What a link says is wrong with its source is over once the source is reached again."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.broker.cluster_links.fetcher import LinkFetcher
from barnabas.broker.cluster_links.running import RunningLink
from barnabas.link.errors import LinkDown, Unreachable
from barnabas.wire.fetch.request import VERSION


class Nodes:
    """A source that is down at first."""

    up = False

    async def open_to(self, broker_id: int) -> Any:
        if not self.up:
            raise Unreachable("connection refused")
        return SimpleNamespace(), SimpleNamespace(must=lambda key, newest: VERSION)


def test_a_connection_to_the_source_ends_the_error_of_the_one_before() -> None:
    async def story() -> None:
        link: Any = RunningLink.__new__(RunningLink)
        link.name, link.error, link.nodes, link.linked, link._unplaced = "east", "", Nodes(), {}, {}
        link._wanted = asyncio.Event()
        fetcher: Any = LinkFetcher.__new__(LinkFetcher)
        fetcher._broker_id, fetcher._link = 1, link
        with pytest.raises(LinkDown):
            await fetcher._open_connection()
        assert link.error == "connection refused"
        link.nodes.up = True
        await fetcher._open_connection()
        assert link.error == ""

    asyncio.run(story())
