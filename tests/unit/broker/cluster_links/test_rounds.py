"""When the next round of a link's topics and groups begins: soon after one that failed, later where there is much."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from barnabas.broker.cluster_links import sync
from barnabas.broker.cluster_links.sync import LinkSync
from barnabas.link.errors import Unreachable


def pauses(
    monkeypatch: pytest.MonkeyPatch, seconds: float, outcome: Callable[[], list[str]], count: int
) -> list[float]:
    """Between rounds that take so long and end so."""
    found: list[float] = []
    now = 100.0

    class Clock(asyncio.SelectorEventLoop):
        def time(self) -> float:
            return now

    async def sleep(pause: float) -> None:
        found.append(pause)
        if len(found) >= count:
            raise asyncio.CancelledError

    async def story() -> None:
        link: Any = LinkSync.__new__(LinkSync)
        link._name, link.error, link.synced_ms, link._groups_due = "east", "", -1, 0.0

        async def one_round(_: float) -> list[str]:
            nonlocal now
            now += seconds
            return outcome()

        link._round = one_round
        monkeypatch.setattr(asyncio, "sleep", sleep)
        with pytest.raises(asyncio.CancelledError):
            await link._run()

    with asyncio.Runner(loop_factory=Clock) as runner:
        runner.run(story())
    return found


def test_a_source_that_does_not_answer_is_asked_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The round waited half a minute for an answer: that is no work to rest from for ten minutes."""

    def unreachable() -> list[str]:
        raise Unreachable("no answer in time")

    assert pauses(monkeypatch, 30.0, unreachable, 3) == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(("partitions", "pause"), [(0, 3.0), (700, 3.0), (5_000, 20.0), (100_000, 60.0)])
def test_the_more_there_is_to_compare_the_longer_is_the_pause(partitions: int, pause: float) -> None:
    assert sync._pause(sync._TOPICS_EVERY_S, partitions * sync._PER_PARTITION_S) == pytest.approx(pause)
