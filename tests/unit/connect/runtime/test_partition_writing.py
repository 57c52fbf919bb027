"""One partition on its way to a target that refuses records, is set back, or is given away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from confluent_kafka import Message

from barnabas.connect.contract import Delivered, Rejected, Sink, Writer
from barnabas.connect.definition.definition import Definition
from barnabas.connect.errors import Refused, Unavailable
from barnabas.connect.runtime.dead_letters import DeadLetter
from barnabas.connect.runtime.decoding import Decoding
from barnabas.connect.runtime.partition_writing import PartitionWriting, Stopped
from tests.unit.connect.runtime.test_handing_out import message


class Target(Sink, Writer):
    """Keeps the next offset. Refuses a batch with one of the `bad` offsets in it, and says which, or does not."""

    def __init__(self, bad: Sequence[int] = (), names_them: bool = False, keeps_offset: bool = True) -> None:
        self.bad, self.names_them, self.keeps_offset = set(bad), names_them, keeps_offset
        self.written: list[int] = []
        self.next: int | None = None
        self.calls = 0

    def open(self, topic: str, partition: int) -> Writer:
        return self

    def next_offset(self) -> int | None:
        return self.next if self.keeps_offset else None

    def write(self, records: Sequence[Delivered], next_offset: int) -> Sequence[Rejected]:
        self.calls += 1
        wrong = tuple(place for place, each in enumerate(records) if each.offset in self.bad)
        if wrong:
            raise Refused("no such record here", wrong if self.names_them else ())
        self.written += [each.offset for each in records]
        self.next = next_offset
        return []

    def close(self) -> None:
        raise OSError("the connection was reset")  # nobody has to hear of it


class Letters:
    def __init__(self) -> None:
        self.kept: list[DeadLetter] = []

    def write(self, letters: Sequence[DeadLetter]) -> None:
        self.kept += letters


def writing(target: Target, **more: Any) -> PartitionWriting:
    definition = Definition(name="out", side="sink", connector="kafka", topics=("orders",), **more)
    made = PartitionWriting(target, "orders", 0, Decoding(definition))
    made.open()
    return made


def messages(first: int, end: int) -> list[Message]:
    return [message(offset) for offset in range(first, end)]


@pytest.mark.parametrize("names_them", [True, False])
@pytest.mark.parametrize("bad", [[3], [0, 7, 9], list(range(10))])
def test_what_a_target_refuses_is_found_and_the_others_are_written(bad: list[int], names_them: bool) -> None:
    target, letters = Target(bad, names_them), Letters()
    made = writing(target)
    made.take(messages(0, 10))
    dead: Any = letters
    written = made.write(dead)
    assert written is not None and (written.records, written.dead) == (10 - len(bad), len(bad))
    assert target.written == [offset for offset in range(10) if offset not in bad]
    assert sorted(each.offset for each in letters.kept) == bad
    assert {each.reason for each in letters.kept} == {"no such record here"}
    assert (made.next_offset, made.durable) == (10, 10)
    if names_them:
        assert target.calls <= 2


def test_a_bad_record_stops_where_the_definition_says_so() -> None:
    made = writing(Target([3]), errors="stop")
    made.take(messages(0, 10))
    dead: Any = Letters()
    with pytest.raises(Stopped, match="orders-0 at 3: no such record here"):
        made.write(dead)


def test_after_an_outage_the_target_says_where_it_stands() -> None:
    """What it has is dropped; where it lacks something, that is read again."""
    target = Target()
    made = writing(target)
    dead: Any = Letters()
    made.take(messages(0, 10))
    made.write(dead)
    made.take(messages(10, 20))
    made.failed(Unavailable("away"))
    target.next = 15  # it had taken some of it, and its answer was lost
    written = made.write(dead)
    assert written is not None and target.written[10:] == [15, 16, 17, 18, 19]
    made.take(messages(20, 25))
    made.failed(Unavailable("away"))
    target.next = 5  # restored from a backup
    assert made.write(dead) is None and made.next_offset == 5
    made.take(messages(5, 25))
    made.write(dead)
    assert target.written[15:] == list(range(5, 25))


def test_what_is_left_is_written_before_the_partition_is_given_away() -> None:
    target = Target(keeps_offset=False)
    made = writing(target)
    dead: Any = Letters()
    made.take(messages(0, 5))
    made.finish(dead)
    assert target.written == [0, 1, 2, 3, 4] and made.durable == 5
    made.take(messages(5, 6))
    made.failed(Unavailable("away"))
    made.finish(dead)  # it waits: whoever comes next writes it
    assert target.written == [0, 1, 2, 3, 4]
