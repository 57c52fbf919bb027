"""A page with much to look at leaves the loop to the others."""

from __future__ import annotations

import asyncio
import time

from barnabas.console.web.turns import in_turns

PIECE_SECONDS = 0.002


def test_others_have_their_turn_while_many_records_are_judged() -> None:
    turns = 0

    def work(number: int) -> int:
        time.sleep(PIECE_SECONDS)  # as a filter does: on the loop
        return number * 2

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def run() -> list[int]:
        beside = asyncio.ensure_future(others())
        made = [each async for each in in_turns(range(50), work)]
        beside.cancel()
        return made

    assert asyncio.run(run()) == [number * 2 for number in range(50)]
    assert turns >= 5
