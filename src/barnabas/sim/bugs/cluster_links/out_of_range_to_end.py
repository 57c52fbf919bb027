"""When retention at the source has overtaken the link it goes on at the end of the source's log, not at its start."""

from collections.abc import Awaitable, Callable

from barnabas.broker.cluster_links import fetcher
from barnabas.link.async_nodes import AsyncNodes
from barnabas.sim.bugs.base import Bug


def _make(right: Callable[[AsyncNodes, int, str, int], Awaitable[tuple[int, int]]]) -> object:
    async def log_range(nodes: AsyncNodes, leader: int, topic: str, index: int) -> tuple[int, int]:
        _, end = await right(nodes, leader, topic, index)
        return end, end

    return log_range


BUG = Bug(
    "out-of-range-to-end",
    "a link that retention has overtaken goes on at the end",
    fetcher,
    "log_range",
    _make,
    nodes=6,
    scenario="linked",
)
