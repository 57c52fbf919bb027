"""Which batches a reader of committed records sees."""

from __future__ import annotations

from barnabas.wire.markers import build_marker
from barnabas.wire.records import Record, build_batch
from barnabas.wire.visible import next_offset, visible_batches


def data(offset: int, producer: int | None = None, count: int = 2) -> bytes:
    records = [Record(offset + at, 0, None, b"v") for at in range(count)]
    if producer is None:
        return bytes(build_batch(records))
    return bytes(build_batch(records, producer_id=producer, producer_epoch=0, base_sequence=0, transactional=True))


def marker(offset: int, producer: int, commit: bool) -> bytes:
    return bytes(
        build_marker(
            offset=offset,
            timestamp_ms=0,
            leader_epoch=0,
            producer_id=producer,
            producer_epoch=0,
            coordinator_epoch=0,
            commit=commit,
        )
    )


def seen(records: bytes, aborted: list[tuple[int, int]] | None = None, start: int = 0, end: int = 1 << 40) -> list[int]:
    return [header.base_offset for _, header in visible_batches(records, aborted or [], start, end)]


LOG = (
    data(0) + data(2, producer=7) + data(4, producer=8) + marker(6, 7, commit=False) + data(7, producer=7)
    + marker(9, 7, commit=True) + marker(10, 8, commit=True) + data(11)
)  # fmt: skip


def test_an_aborted_transaction_is_left_out_and_its_producers_next_one_is_not() -> None:
    assert seen(LOG, [(7, 2)]) == [0, 4, 7, 11]


def test_without_a_list_everything_but_the_control_records_is_seen() -> None:
    assert seen(LOG) == [0, 2, 4, 7, 11]


def test_only_the_batches_that_reach_into_the_range() -> None:
    assert seen(LOG, start=3, end=8) == [2, 4, 7]


def test_reading_goes_on_behind_the_last_whole_batch() -> None:
    assert next_offset(LOG, 0) == 13
    assert next_offset(LOG[:-3], 0) == 11
    assert next_offset(b"", 5) == 5
