"""What was aborted is remembered through crashes: entries are cut, found twice, and never take others with them."""

import random
import time
from pathlib import Path

import pytest

from barnabas.storage.disk import Disk
from barnabas.storage.indexes.aborted import ENTRY, AbortedTransaction, AbortedTransactions


def loaded(folder: Path, end_offset: int, disk: Disk | None = None) -> AbortedTransactions:
    found = AbortedTransactions(str(folder), disk=disk or Disk())
    found.load({path.name: path.stat().st_size for path in folder.iterdir()}, end_offset)
    return found


def write(folder: Path, base_offset: int, *ends: int) -> None:
    entries = (ENTRY.pack(0, *AbortedTransaction(7, end - 2, end, end + 1)) for end in ends)
    (folder / f"{base_offset:020d}.txnindex").write_bytes(b"".join(entries))


def test_an_entry_that_is_in_two_files_does_not_take_those_behind_it(tmp_path: Path) -> None:
    write(tmp_path, 0, 10, 45)  # 45 was cut from here, and a power loss brought it back
    write(tmp_path, 20, 45, 64, 78)
    found = loaded(tmp_path, 100)
    assert [first for _, first in found.between(0, 100)] == [8, 43, 62, 76]
    assert len(loaded(tmp_path, 100)) == 4  # nothing was cut


def test_what_is_cut_is_flushed(tmp_path: Path) -> None:
    class Watched(Disk):
        synced: tuple[str, ...] = ()

        def sync(self, fd: int, path: str) -> None:
            self.synced += (path,)

    write(tmp_path, 0, 10, 45)
    disk = Watched()
    assert len(loaded(tmp_path, 40, disk)) == 1
    assert disk.synced == (str(tmp_path / f"{0:020d}.txnindex"),)
    assert (tmp_path / f"{0:020d}.txnindex").stat().st_size == ENTRY.size


def test_what_touches_a_slice_is_found_however_long_a_transaction_was_open(tmp_path: Path) -> None:
    rng = random.Random(7)
    found, rows, offset = AbortedTransactions(str(tmp_path)), [], 0
    for number in range(2_000):
        offset += rng.randrange(1, 5)
        first = max(offset - rng.choice((1, 1, 1, 2, 50, 4_000)), 0)
        found.add(AbortedTransaction(number, first, offset, offset + 1), 0)
        rows.append((number, first, offset))
    for again in (False, True):
        for _ in range(100):
            start = rng.randrange(offset)
            end = start + rng.choice((1, 10, 500))
            assert found.between(start, end) == [
                (number, first) for number, first, last in rows if last >= start and first < end
            ]
        if not again:
            found.forget_before(offset // 2)
            rows = [row for row in rows if row[2] >= offset // 2]
            assert len(found) < len(rows) + 256
    found.forget_before(offset + 1)
    assert len(found) == 0
    assert found.between(0, offset) == []


def test_aborted_transactions_later_in_the_log_cost_a_fetch_nothing(tmp_path: Path) -> None:
    entries = b"".join(ENTRY.pack(0, *AbortedTransaction(7, n * 2, n * 2 + 1, n * 2 + 2)) for n in range(300_000))
    (tmp_path / f"{0:020d}.txnindex").write_bytes(entries)
    found = loaded(tmp_path, 1_000_000)
    assert len(found) == 300_000

    def seconds(start: int) -> float:
        began = time.process_time()
        for _ in range(20):
            assert len(found.between(start, start + 20)) == 10
        return (time.process_time() - began) / 20

    assert min(seconds(0) for _ in range(3)) < 0.002  # 20 ms when every row was looked at


@pytest.mark.parametrize("end_offset", [0, 5, 999, 1000, 2561, 2999, 7000, 9999])
def test_a_cut_log_forgets_the_markers_behind_its_end(tmp_path: Path, end_offset: int) -> None:
    kept = AbortedTransactions(str(tmp_path))
    for number in range(1000):
        entry = AbortedTransaction(number, number * 10 - 100, number * 10, 0)
        kept.add(entry, number // 300 * 3000)
    before = kept.between(0, 1 << 62)
    changed = kept.truncate_to(end_offset)
    expected = [row for row in before if row[0] * 10 < end_offset]
    assert kept.between(0, 1 << 62) == expected and bool(changed) == (len(expected) < 1000)
    read = loaded(tmp_path, 1 << 62)
    assert read.between(0, 1 << 62) == expected
    assert [kept.between(at, at + 10) for at in range(0, 11000, 500)] == [
        read.between(at, at + 10) for at in range(0, 11000, 500)
    ]
    for log in (kept, read):  # and both go on
        log.truncate_to(end_offset)
    kept.add(AbortedTransaction(5000, 11000, 12000, 0), 12000)
    assert loaded(tmp_path, 1 << 62).between(0, 1 << 62) == [*expected, (5000, 11000)]


def test_a_reader_stops_before_it_meets_too_many_markers(tmp_path: Path) -> None:
    write(tmp_path, 0, *range(10, 10_000, 10))
    found = loaded(tmp_path, 1 << 62)
    assert found.bound(0, 1 << 62, 5) == 60  # markers 10 to 50 are before it
    assert found.bound(10, 1 << 62, 5) == 60
    assert found.bound(11, 1 << 62, 5) == 70
    assert found.bound(0, 55, 5) == 55
    assert found.bound(9_950, 1 << 62, 50) == 1 << 62
    assert found.bound(10, 1 << 62, 0) == 10
    assert found.ended_between(10, 60) == 5 and found.ended_between(11, 61) == 5


def test_files_in_order_and_out_of_order_are_read_alike(tmp_path: Path) -> None:
    """Whole columns at once, or entry by entry: the same entries, over many blocks and several files."""
    write(tmp_path, 0, *range(10, 3_010, 10))
    write(tmp_path, 3_500, *range(3_000, 9_000, 10))  # the first is in both files
    in_order = loaded(tmp_path, 8_000)
    rows = in_order.between(0, 1 << 62)
    assert rows == [(7, end - 2) for end in range(10, 8_000, 10)]
    assert in_order.between(2_999, 3_001) == [(7, 2_998)]
    second = tmp_path / f"{3_500:020d}.txnindex"
    assert second.stat().st_size == ENTRY.size * len(range(3_000, 8_000, 10))  # the others were cut off
    data = second.read_bytes()
    second.write_bytes(data[: ENTRY.size] + data)  # an entry twice
    again = loaded(tmp_path, 8_000)
    assert again.between(0, 1 << 62) == rows
    assert [again.between(at, at + 50) for at in range(0, 8_000, 70)] == [
        in_order.between(at, at + 50) for at in range(0, 8_000, 70)
    ]
    assert second.stat().st_size == ENTRY.size + len(data)


def test_entries_of_a_file_that_is_named_after_a_later_segment_are_found(tmp_path: Path) -> None:
    """A recovery replays into the file of the active segment. The log is cut to before that segment, grows again
    through the same offsets, and every marker has to be known after the next start."""
    index = AbortedTransactions(str(tmp_path))
    for end in (8, 24, 84):
        index.add(AbortedTransaction(7, end - 2, end, end + 1), 86)
    index.truncate_to(21)
    for end, segment in ((22, 0), (60, 50), (95, 86)):
        index.add(AbortedTransaction(9, end - 2, end, end + 1), segment)
    told = index.between(0, 1000)
    assert told == [(7, 6), (9, 20), (9, 58), (9, 93)]
    again = loaded(tmp_path, 1000)
    assert again.between(0, 1000) == told
    again.add(AbortedTransaction(9, 101, 103, 104), 86)
    assert loaded(tmp_path, 1000).between(0, 1000) == [*told, (9, 101)]
