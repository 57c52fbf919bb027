"""A writer that gathers, in front of a target that takes nothing: it says so until something is there for good."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from confluent_kafka import Message

from barnabas.connect.contract import Delivered, Rejected, Sink, Writer
from barnabas.connect.definition.definition import Definition
from barnabas.connect.errors import Unavailable
from barnabas.connect.runtime.decoding import Decoding
from barnabas.connect.runtime.partition_writing import PartitionWriting
from tests.unit.connect.runtime.test_handing_out import message

DEFINITION = Definition(name="lake", side="sink", connector="s3", topics=("orders",))


class Lake(Sink):
    def __init__(self) -> None:
        self.durable, self.is_full = 0, False

    def open(self, topic: str, partition: int) -> Writer:
        return LakeWriter(self)


class LakeWriter(Writer):
    def __init__(self, lake: Lake) -> None:
        self._lake, self._gathered = lake, lake.durable

    def next_offset(self) -> int | None:
        return self._lake.durable

    def write(self, records: Sequence[Delivered], next_offset: int) -> Sequence[Rejected]:
        self._gathered = next_offset
        return []

    def flush(self, now: bool) -> int | None:
        if now and self._gathered > self._lake.durable:
            if self._lake.is_full:
                raise Unavailable("the lake is full")
            self._lake.durable = self._gathered
        return self._lake.durable


def messages(first: int, end: int) -> list[Message]:
    return [message(offset) for offset in range(first, end)]


def shown(writing: PartitionWriting) -> str:
    return writing.problem


def test_it_waits_longer_each_time_until_it_is_over() -> None:
    lake = Lake()
    writing = PartitionWriting(lake, "orders", 0, Decoding(DEFINITION))
    writing.open()
    writing.take(messages(0, 10))
    writing.write(None)  # type: ignore[arg-type]  # there is no dead letter
    assert shown(writing) == ""
    lake.is_full = True
    pauses = [writing.failed(Unavailable("the lake is full"))]
    for _ in range(3):
        assert writing.write(None) is None  # type: ignore[arg-type]  # opened anew, what had gathered is read again
        assert shown(writing) == "the lake is full"
        assert not writing.waits
        writing.take(messages(0, 10))
        with pytest.raises(Unavailable) as caught:
            writing.write(None)  # type: ignore[arg-type]  # as above
        pauses.append(writing.failed(caught.value))
        assert writing.waits
    assert pauses[3] > 4 * pauses[0]
    lake.is_full = False
    assert writing.write(None) is None  # type: ignore[arg-type]
    writing.take(messages(0, 10))
    writing.write(None)  # type: ignore[arg-type]
    assert (writing.problem, writing.waits, writing.durable) == ("", False, 10)
