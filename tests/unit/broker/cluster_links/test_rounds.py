"""When the next round of a link's topics and groups begins: soon after one that failed, later after a long one."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

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
        link._name, link.error, link.synced_ms = "east", "", -1

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


@pytest.mark.parametrize(("seconds", "pause"), [(0.01, 1.0), (0.5, 10.0), (60.0, 30.0)])
def test_a_round_with_much_to_do_is_followed_by_a_longer_pause(
    monkeypatch: pytest.MonkeyPatch, seconds: float, pause: float
) -> None:
    assert pauses(monkeypatch, seconds, list, 1) == [pytest.approx(pause)]
