"""Which objects are new: every object once, in order, with a position that stays small."""

from __future__ import annotations

import json
import random

import pytest

from barnabas.connect.connectors.s3 import listing
from barnabas.connect.connectors.s3.listing import ByName, ByTime
from barnabas.connect.contract import Position
from tests.unit.connect.s3.memory import MemoryBucket


def by_time(bucket: MemoryBucket, position: Position, grace_s: float = 10, remember: int = 100) -> ByTime:
    return ByTime(bucket, lambda name: True, json.loads(json.dumps(position)), grace_s, remember)


def put(bucket: MemoryBucket, name: str, at: int) -> None:
    bucket.objects[name], bucket.times[name] = b"x", at


def test_objects_that_come_at_any_time_are_read_once() -> None:
    """In any order within the grace, with a restart after any object."""
    for seed in range(50):
        rng, bucket, position, read, put_already = random.Random(seed), MemoryBucket(), Position(), list[str](), 0
        due = sorted((at + rng.randrange(9), f"{rng.random()}", at) for at in range(60))  # when seen, name, its time
        for now in range(70):
            while put_already < 60 and due[put_already][0] <= now:
                put(bucket, *due[put_already][1:])
                put_already += 1
            listed = by_time(bucket, position)
            for found in listed.new():
                listed.read(found)
                read.append(found.name)
                position = listed.position()
                if rng.random() < 0.2:
                    break  # closed, and opened again at the position
        listed = by_time(bucket, position)
        read += [found.name for found in listed.new()]
        assert sorted(read) == sorted(name for _, name, _ in due), seed
        assert len(position["seen"]) <= 12


def test_more_objects_than_are_remembered() -> None:
    bucket, position, read = MemoryBucket(), Position(), list[str]()
    for number in range(200):
        put(bucket, f"{number:03}", 1000)  # all of one second
    while found := (listed := by_time(bucket, position, remember=5)).new()[:30]:
        for each in found:
            listed.read(each)
            read.append(each.name)
        position = listed.position()
        assert len(position["seen"]) <= 5
    assert read == [f"{each:03}" for each in range(200)]


def test_an_object_that_is_written_again_is_new_and_one_older_than_the_grace_is_not() -> None:
    bucket = MemoryBucket()
    for name, at in (("a", 100), ("b", 200)):
        put(bucket, name, at)
    listed = by_time(bucket, {})
    for found in listed.new():
        listed.read(found)
    put(bucket, "a", 201)
    put(bucket, "late", 195)
    put(bucket, "too late", 99)
    assert [found.name for found in by_time(bucket, listed.position()).new()] == ["late", "a"]


def test_by_name_and_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "AT_ONCE", 3)
    bucket, position, read = MemoryBucket(), Position(), list[str]()
    for name in "gacbedf":
        put(bucket, name, 0)
    while found := (listed := ByName(bucket, lambda name: name != "d", position)).new():
        assert len(found) <= 3
        for each in found:
            listed.read(each)
            read.append(each.name)
        position = listed.position()
    assert read == list("abcefg")
    assert position == {"after": "g"}
