"""Where reading begins and ends, against a consumer that hands out what it is given."""

import time
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.cli.common import leaderless
from barnabas.cli.common.failure import Failure
from barnabas.cli.consume import reading
from barnabas.cli.consume.reading import Span, read_group, read_spans
from barnabas.client.errors import BarnabasError

from .fakes import FakeMessage


class FakeError:
    def __init__(self, code: int) -> None:
        self._code = code

    def code(self) -> int:
        return self._code

    def retriable(self) -> bool:
        return False

    def name(self) -> str:
        return "NO"

    def str(self) -> str:
        return "Broker: No"


class Event(FakeMessage):
    """An event that is no record: the end of a partition, or an error."""

    def __init__(self, code: int, partition: int = 0) -> None:
        super().__init__(None, partition_=partition)
        self._error = FakeError(code)

    def error(self) -> Any:
        return self._error


def record(partition: int, offset: int) -> FakeMessage:
    return FakeMessage(b"v", partition_=partition, offset_=offset)


END = -191


class FakeConsumer:
    """Gives out its batches, one at each turn; a turn too many is a test that would never end."""

    def __init__(self, *batches: Iterable[FakeMessage]) -> None:
        self._batches = [list(batch) for batch in batches]
        self._rest: list[FakeMessage] = []
        self.assigned: list[Any] = []
        self.stored: list[tuple[int, int]] = []
        self._on_assign: Any = None
        self.member_of: list[int] = []

    def assign(self, partitions: list[Any]) -> None:
        self.assigned = [(each.partition, each.offset) for each in partitions]

    def subscribe(self, topics: list[str], on_assign: Any, on_revoke: Any) -> None:
        self._on_assign = on_assign

    def poll(self, timeout: float) -> FakeMessage | None:
        if self._on_assign is not None:
            from confluent_kafka import TopicPartition

            self._on_assign(self, [TopicPartition("views", each) for each in self.member_of])
            self._on_assign = None
            return None
        assert self._batches, "read on after everything was read"
        batch = self._batches.pop(0)
        self._rest = batch[1:]
        return batch[0] if batch else None

    def consume(self, number: int, timeout: float) -> list[FakeMessage]:
        assert timeout == 0
        found, self._rest = self._rest, []
        return found

    def store_offsets(self, offsets: list[Any]) -> None:
        self.stored += [(each.partition, each.offset) for each in offsets]


def places(batches: Iterable[list[Any]]) -> list[tuple[int, int]]:
    return [(each.partition(), each.offset()) for batch in batches for each in batch]


def test_it_ends_at_the_stops_and_gives_nothing_beyond() -> None:
    consumer = FakeConsumer([record(0, 5), record(1, 0), record(0, 6)], [], [record(0, 7), record(1, 1), record(1, 2)])
    spans = [Span(0, 5, 7), Span(1, 0, 2)]
    assert places(read_spans(consumer, "views", spans)) == [(0, 5), (1, 0), (0, 6), (1, 1)]  # type: ignore[arg-type]
    assert consumer.assigned == [(0, 5), (1, 0)]


def test_the_end_of_a_partition_counts_when_its_last_offsets_hold_no_record() -> None:
    consumer = FakeConsumer([record(0, 5)], [Event(END)])
    assert places(read_spans(consumer, "views", [Span(0, 5, 9)])) == [(0, 5)]  # type: ignore[arg-type]


def test_a_hole_over_the_stop_ends_it_too() -> None:
    consumer = FakeConsumer([record(0, 5), record(0, 12)])
    assert places(read_spans(consumer, "views", [Span(0, 5, 9)])) == [(0, 5)]  # type: ignore[arg-type]


def test_empty_spans_are_not_even_asked_for() -> None:
    consumer = FakeConsumer()
    assert places(read_spans(consumer, "views", [Span(0, 5, 5)])) == []  # type: ignore[arg-type]
    assert consumer.assigned == []


def test_an_error_that_does_not_heal_is_raised_and_one_that_does_is_not() -> None:
    consumer = FakeConsumer([Event(-195)], [Event(-187), Event(29)])
    with pytest.raises(BarnabasError, match="read views"):
        places(read_spans(consumer, "views", [Span(0, 0, 5)]))  # type: ignore[arg-type]


def test_a_member_reads_until_it_has_caught_up_and_stores_what_was_taken() -> None:
    consumer = FakeConsumer([record(0, 5), record(1, 3)], [Event(END, 0)], [record(1, 4), Event(END, 1)])
    consumer.member_of = [0, 1]
    assert places(read_group(consumer, "views", follow=False)) == [(0, 5), (1, 3), (1, 4)]  # type: ignore[arg-type]
    assert consumer.stored == [(0, 6), (1, 4), (1, 5)]


def test_what_was_not_taken_is_not_stored() -> None:
    consumer = FakeConsumer([record(0, 5)])
    consumer.member_of = [0]
    batches = read_group(consumer, "views", follow=True)  # type: ignore[arg-type]
    next(batches)
    batches.close()  # type: ignore[attr-defined]
    assert consumer.stored == []


class WithoutCoordinator(FakeConsumer):
    def subscribe(self, topics: list[str], on_assign: Any, on_revoke: Any) -> None:
        """Nobody assigns anything."""

    def poll(self, timeout: float) -> FakeMessage | None:
        time.sleep(0.002)
        return None


def test_a_member_that_is_to_end_gives_up_on_a_group_without_a_coordinator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "GIVE_UP_S", 0.02)
    with pytest.raises(Failure, match=r"^gave up after 0 s: the group has given no partitions") as failed:
        places(read_group(WithoutCoordinator(), "views", follow=False))  # type: ignore[arg-type]
    assert "barnabas cluster status" in failed.value.line()


class WithoutLeader(FakeConsumer):
    """Partition 1 has no leader; partition 0 gets a new record at every turn after its end."""

    def __init__(self) -> None:
        super().__init__([record(0, 5), Event(END, 0)])
        self.member_of = [0, 1]
        self._offset = 5

    def poll(self, timeout: float) -> FakeMessage | None:
        if self._on_assign is not None or self._batches:
            return super().poll(timeout)
        time.sleep(0.002)
        self._offset += 1
        return record(0, self._offset)

    def list_topics(self, topic: str, timeout: float) -> Any:
        partitions = {
            0: SimpleNamespace(id=0, leader=1, replicas=[1]),
            1: SimpleNamespace(id=1, leader=-1, replicas=[2]),
        }
        return SimpleNamespace(topics={topic: SimpleNamespace(partitions=partitions)})


def test_a_member_that_is_to_end_gives_up_on_a_partition_without_a_leader(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(leaderless, "PATIENCE_S", 0.02)
    monkeypatch.setattr(leaderless, "AGAIN_S", 0.02)
    monkeypatch.setattr(reading, "GIVE_UP_S", 0.1)
    consumer = WithoutLeader()
    with pytest.raises(Failure, match=r"^gave up after 0 s: views-1 has no leader: start node 2 "):
        places(read_group(consumer, "views", follow=False))  # type: ignore[arg-type]
    assert capsys.readouterr().err.count("views-1 has no leader") == 1, "it is told once"
    assert consumer.stored[:2] == [(0, 6), (0, 7)], "what was read of others is committed"
