"""State that contradicts itself is refused where it comes about, before it is on disk."""

from pathlib import Path

import pytest

from barnabas.storage.disk import DISK
from barnabas.storage.indexes.aborted import AbortedTransaction, AbortedTransactions
from barnabas.storage.indexes.offset_index import OffsetIndex
from barnabas.storage.log import Log
from barnabas.wire.records import Record, build_batch

from .stories import SMALL, batch_at, fill


@pytest.mark.parametrize("entry", [(10, 200), (11, 100), (9, 300)])
def test_an_index_entry_that_does_not_ascend(tmp_path: Path, entry: tuple[int, int]) -> None:
    index = OffsetIndex(DISK, str(tmp_path / "0.index"), 0)
    index.add_batch(10, 100)
    with pytest.raises(AssertionError):
        index.add_batch(*entry)
    assert len(index) == 1


def test_a_batch_that_ends_before_it_begins(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "t-0", SMALL, clean=False)
    fill(log, 3)
    with pytest.raises(AssertionError):
        log.append(batch_at(6), base_offset=6, last_offset=5, max_timestamp=1_000, leader_epoch=0)
    assert log.log_end_offset == 6
    with pytest.raises(AssertionError):
        build_batch([Record(6, 0, None, None, ())], base_offset=7)


def test_a_segment_that_begins_before_the_end_of_the_log(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "t-0", SMALL, clean=False)
    fill(log, 3)
    with pytest.raises(AssertionError):
        log._roll(5)
    with pytest.raises(AssertionError):
        log.start_segment(0)
    assert log.bases == [0]


def test_an_abort_marker_before_the_newest(tmp_path: Path) -> None:
    aborted = AbortedTransactions(str(tmp_path))
    aborted.add(AbortedTransaction(7, 0, 10, 11), 0)
    for first, last in ((5, 10), (12, 11)):
        with pytest.raises(AssertionError):
            aborted.add(AbortedTransaction(7, first, last, 12), 0)
    assert len(aborted) == 1
