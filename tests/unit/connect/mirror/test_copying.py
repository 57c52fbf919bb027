"""Where a partition is read on when the source no longer has what comes next, or is another one."""

from __future__ import annotations

from typing import cast

import pytest

from barnabas.connect.connectors.mirror.copying import CopyReader
from barnabas.connect.connectors.mirror.fetching import EARLIEST, Fetched, Fetching, Lost
from barnabas.connect.connectors.mirror.offset_map import OffsetMap
from barnabas.connect.contract import Position
from barnabas.connect.errors import Unavailable

OLD, NEW = "aa" * 16, "bb" * 16


class Log:
    """A partition of the source that says OFFSET_OUT_OF_RANGE."""

    def __init__(self, low: int, high: int, topic_id: str = OLD) -> None:
        self.low, self.high, self.id = low, high, topic_id
        self.opened: list[int] = []

    def topic_id(self, topic: str) -> str:
        return self.id

    def bound(self, place: tuple[str, int], which: int) -> int:
        return self.low if which == EARLIEST else self.high

    def open(self, place: tuple[str, int], offset: int, topic_id: str = "") -> None:
        self.opened.append(offset)

    def close_place(self, place: tuple[str, int]) -> None:
        pass

    def take(self, place: tuple[str, int], next_offset: int, wait_s: float) -> Fetched | None:
        raise Lost


def _position(offset: int, topic_id: str = OLD) -> Position:
    copied = OffsetMap.beginning_at(0)
    copied.extend([(0, offset)], offset, [(0, offset)])
    return {"offset": offset, "id": topic_id, "map": copied.encoded()}


def _reader(log: Log, position: Position) -> CopyReader:
    return CopyReader(cast(Fetching, log), ("orders", 0), "east.orders", None, "earliest", position, None)


@pytest.mark.parametrize(
    ("low", "high", "goes_on", "lost"),
    [
        (0, 80, 50, 0),  # it is there by now
        (0, 50, 50, 0),
        (60, 80, 60, 10),  # deleted before it was read
        (0, 30, 30, 20),  # cut off
    ],
)
def test_an_offset_that_is_not_there(low: int, high: int, goes_on: int, lost: int) -> None:
    log = Log(low, high)
    chunk = _reader(log, _position(50)).read(100, 0)
    assert chunk is not None and chunk.position["offset"] == goes_on
    assert chunk.position.get("lost", 0) == lost
    assert log.opened == [50, goes_on]


def test_a_topic_made_anew_is_opened_anew() -> None:
    log = Log(0, 80)
    reader = _reader(log, _position(50))
    log.id = NEW
    with pytest.raises(Unavailable, match="made anew"):
        reader.read(100, 0)
    again = _reader(log, _position(50))
    assert log.opened == [50, 0]
    position = again._position()
    assert (position["offset"], position["id"]) == (0, NEW)


@pytest.mark.parametrize(("known", "now", "saved"), [("", NEW, NEW), (OLD, "", OLD), ("", "", "")])
def test_an_id_that_appears_or_is_not_said_copies_nothing_again(known: str, now: str, saved: str) -> None:
    log = Log(0, 80, now)
    reader = _reader(log, _position(50, known))
    chunk = reader.read(100, 0)
    assert chunk is not None
    assert (chunk.position["offset"], chunk.position["id"]) == (50, saved)
