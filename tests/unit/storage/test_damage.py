"""A bit that flips on the disk is found by its CRC, named with file and position, and never handed out."""

import logging
from pathlib import Path

import pytest

from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.storage.config import LogConfig
from barnabas.storage.damage import Damage, Damaged
from barnabas.storage.log import Log
from barnabas.wire.batch import HEADER_BYTES, write_crc
from tests.unit.storage.stories import SMALL, batch_at, fill, log_files, read_batches, write

CONFIG = LogConfig(index_interval_bytes=200)


def closed_log(tmp_path: Path) -> tuple[Path, list[bytes]]:
    log = Log.open(tmp_path / "t-0", CONFIG, clean=False)
    written = fill(log, 20)
    log.close()
    return log.directory, written


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 0x10
    path.write_bytes(data)


def test_bytes_of_this_process_are_trusted_older_ones_are_read_once(tmp_path: Path) -> None:
    folder, written = closed_log(tmp_path)
    log = Log.open(folder, CONFIG, clean=True)
    fill(log, 2)
    assert log.read(40, 10_000, 44).verified
    piece = log.read(0, 1_000, 44)
    assert not piece.verified
    checked = log.verify_slice(piece)
    size = len(written[0])
    assert checked.verified
    assert checked.length == 1_000 // size * size
    again = log.read(0, 1_000, 44)
    assert again.verified
    assert again.length == checked.length  # cut where the verified range ends, at a batch boundary
    following = log.read(12, 1_000, 44)
    assert not following.verified
    log.verify_slice(following)
    assert log.segments[0].verified == ((0, 2 * (1_000 // size) * size),)


def test_nothing_is_rebuilt_from_a_flipped_bit(tmp_path: Path) -> None:
    """Whose transaction a batch belongs to stands in its header: believed, it could hang for ever."""
    folder, written = closed_log(tmp_path)
    producer_id = 43
    flip(log_files(folder)[0], len(written[0]) + producer_id)
    log = Log.open(folder, CONFIG, clean=True)
    with pytest.raises(Damaged, match="CRC"):
        list(log.batches_from(0))


def test_ranges_that_touch_are_one(tmp_path: Path) -> None:
    folder, written = closed_log(tmp_path)
    log = Log.open(folder, CONFIG, clean=True)
    size = len(written[0])
    for offset in (20, 0, 30, 10):
        log.verify_slice(log.read(offset, 5 * size, 40))
    assert log.segments[0].verified == ((0, 20 * size),)
    assert log.read(0, 10**6, 40).verified


def test_what_recovery_has_read_needs_no_second_look(tmp_path: Path) -> None:
    folder, _ = closed_log(tmp_path)
    assert Log.open(folder, CONFIG, clean=False).read(0, 10**6, 40).verified


@pytest.mark.parametrize("inside", [HEADER_BYTES + 3, 22, 18, 12 + 50])
def test_a_bad_batch_in_the_middle_is_reported_and_never_served(
    tmp_path: Path, inside: int, caplog: pytest.LogCaptureFixture
) -> None:
    folder, written = closed_log(tmp_path)
    size = len(written[0])
    path = log_files(folder)[0]
    flip(path, 7 * size + inside)
    log = Log.open(folder, CONFIG, clean=True)
    good = log.verify_slice(log.read(0, 10**6, 40))
    assert good.read() == b"".join(written[:7])
    for _ in range(3):
        with pytest.raises(KafkaError) as refused:
            log.verify_slice(log.read(14, 10**6, 40))
        assert refused.value.code is ErrorCode.CORRUPT_MESSAGE
        assert str(path) in refused.value.message
        assert f"position {7 * size}" in refused.value.message
    assert sum(record.levelno >= logging.ERROR for record in caplog.records) == 1
    assert read_batches(log, 16) == written[8:]
    assert log.verify() == [Damage(str(path), 7 * size, "the CRC does not match")]


@pytest.mark.parametrize("inside", [0, 8, 9, 16, 23])
def test_a_bad_header_hides_no_more_than_it_must(tmp_path: Path, inside: int) -> None:
    folder, written = closed_log(tmp_path)
    size = len(written[0])
    path = log_files(folder)[0]
    flip(path, 7 * size + inside)
    log = Log.open(folder, CONFIG, clean=True)
    assert [(damage.file, damage.position) for damage in log.verify()] == [(str(path), 7 * size)]
    with pytest.raises(KafkaError) as refused:
        log.verify_slice(log.read(14, 10**6, 40))
    assert refused.value.code is ErrorCode.CORRUPT_MESSAGE
    assert read_batches(log, 24) == written[12:]


def test_a_slice_that_cuts_a_good_batch_is_not_damage(tmp_path: Path) -> None:
    folder, written = closed_log(tmp_path)
    log = Log.open(folder, CONFIG, clean=True)
    size = len(written[0])
    for length in (size + 1, 2 * size - 1, size + 70):
        piece = log.read(0, length, 40)
        assert log.check_slice(piece) is None
        assert log.verify_slice(piece).length == size
    assert log.damages == set()


def test_check_slice_names_the_damage_and_changes_nothing(tmp_path: Path) -> None:
    folder, written = closed_log(tmp_path)
    path = log_files(folder)[0]
    flip(path, 3 * len(written[0]) + 80)
    log = Log.open(folder, CONFIG, clean=True)
    piece = log.read(0, 10**6, 40)
    assert log.check_slice(piece) == Damage(str(path), 3 * len(written[0]), "the CRC does not match")
    assert log.segments[0].verified == ()


def test_verify_finds_every_bad_batch_of_every_segment(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "t-0", SMALL, clean=False)
    written = fill(log, 40)
    log.close()
    size = len(written[0])
    paths = log_files(log.directory)[:3]
    for path in paths:
        flip(path, 2 * size + 90)
        flip(path, 5 * size + 90)
    found = Log.open(log.directory, SMALL, clean=True).verify()
    assert [(damage.file, damage.position) for damage in found] == [
        (str(path), position * size) for path in paths for position in (2, 5)
    ]


def test_a_deep_look_opens_every_batch(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "t-0", CONFIG, clean=False)
    batch = batch_at(0, 3)
    batch[HEADER_BYTES] = 4  # a record length that is wrong, under a CRC that is right
    write_crc(batch)
    write(log, batch)
    assert log.verify() == []
    assert [damage.position for damage in log.verify(deep=True)] == [0]


def test_a_file_that_became_shorter_is_damage_not_a_traceback(tmp_path: Path) -> None:
    folder, written = closed_log(tmp_path)
    log = Log.open(folder, CONFIG, clean=True)
    path = log_files(folder)[0]
    path.write_bytes(path.read_bytes()[: len(written[0]) * 3 + 10])
    assert log.verify_slice(log.read(0, 10**6, 40)).read() == b"".join(written[:3])
    with pytest.raises(KafkaError):
        log.verify_slice(log.read(6, 10**6, 40))
