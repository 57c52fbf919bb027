"""The restore pipeline without Spark: the store's checksums, the plain answer, and the file that is left."""

import sqlite3
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from barnabas.pipelines.framework.records import TOMBSTONE, Record
from barnabas.pipelines.restore import generator, wrong
from barnabas.pipelines.restore.answer import checked, rebuilt
from barnabas.pipelines.restore.checksum import Checksum
from barnabas.pipelines.restore.files import read_state, write_state
from barnabas.pipelines.restore.store import Change, Store

BEGIN = 1_790_000_000_000


def change_of(record: Record) -> Change:
    value = None if record.value is TOMBSTONE else msgspec.json.encode(record.value)
    return Change((record.key or "").encode(), value, dict(record.headers or {}))


def busy_log(count: int = 400) -> tuple[Store, list[Change]]:
    chance, store = Random(1), Store()
    log = []
    for number in range(count):
        key = b"key-%d" % chance.randrange(40)
        log.append(store.delete(key) if chance.random() < 0.2 else store.put(key, b"value-%d" % number))
    return store, log


def test_a_checksum_does_not_depend_on_the_order_and_can_be_taken_back() -> None:
    pairs = [(b"a", b"1"), (b"b", b"2"), (b"c", b"3")]
    forward = backward = Checksum()
    for pair in pairs:
        forward = forward.put(*pair)
    for pair in reversed(pairs):
        backward = backward.put(*pair)
    assert forward == backward and forward.keys == 3
    assert forward.dropped(b"c", b"3").dropped(b"b", b"2").dropped(b"a", b"1") == Checksum()
    assert Checksum.of(3, forward.text) == forward
    assert Checksum().put(b"ab", b"c") != Checksum().put(b"a", b"bc")


def test_the_log_gives_the_state_back_and_says_so() -> None:
    store, log = busy_log()
    assert rebuilt(log) == store.state and len(store.state) > 10
    assert all(check.whole for check in checked(log)) and len(checked(log)) == 3


def test_copies_and_stale_copies_change_nothing() -> None:
    store, log = busy_log()
    messy = [*log, *Random(2).sample(log, 100)]
    assert rebuilt(messy) == store.state
    assert all(check.whole for check in checked(messy))


def test_what_compaction_leaves_is_enough() -> None:
    store, log = busy_log()
    last = {change.key: change for change in log}
    compacted = [change for change in log if last[change.key] is change]
    assert rebuilt(compacted) == store.state
    assert all(check.whole for check in checked(compacted))


@pytest.mark.parametrize("damage", ["lost", "changed", "not deleted"])
def test_damage_is_found_and_told_in_one_line(damage: str) -> None:
    store, log = busy_log()
    last = {change.key: place for place, change in enumerate(log)}
    place = next(
        at for key, at in last.items() if (key in store.state) == (damage != "not deleted") and at < len(log) - 10
    )
    if damage == "changed":
        log[place] = Change(log[place].key, b"another", log[place].headers)
    else:
        del log[place]
    told = wrong(checked(log), Checksum(), "")
    assert "is not whole" in told and "\n" not in told


def test_a_log_without_checksums_is_rebuilt_by_its_order() -> None:
    log = [Change(b"a", b"1", {}), Change(b"b", b"2", {}), Change(b"a", None, {}), Change(b"b", b"3", {})]
    assert rebuilt(log) == {b"b": b"3"}
    assert checked(log) == []
    held = Checksum().put(b"b", b"3")
    assert wrong([], held, "") == "" and wrong([], held, held.text) == ""
    assert "should be" in wrong([], held, "0" * 30)


def test_the_generator_makes_a_log_with_deletions_and_stale_copies() -> None:
    first, second = (list(islice(generator.generate(3, BEGIN, 200), 8000)) for _ in range(2))
    assert first == second
    log = [change_of(record) for record in first]
    seqs = [int(change.headers["seq"]) for change in log if change.headers["shard"] == b"0"]
    assert seqs != sorted(seqs) and len(set(seqs)) < len(seqs)
    assert any(change.value is None for change in log)
    assert all(check.whole for check in checked(log))
    assert [record.time_ms for record in first] == sorted(record.time_ms for record in first)


def test_a_state_file_is_whole_or_not_there(tmp_path: Path) -> None:
    place = tmp_path / "state.db"
    assert write_state([(b"a", b"1"), (b"b", b"2")], place) == 2
    assert read_state(place) == {b"a": b"1", b"b": b"2"}

    def broken() -> Iterator[Any]:
        yield b"c", b"3"
        raise OSError("the log went away")

    with pytest.raises(OSError, match="went away"):
        write_state(broken(), place)
    assert read_state(place) == {b"a": b"1", b"b": b"2"}
    assert write_state([(b"d", b"4")], place) == 1
    assert read_state(place) == {b"d": b"4"}
    with pytest.raises(sqlite3.IntegrityError):
        write_state([(b"d", b"4"), (b"d", b"5")], place)
