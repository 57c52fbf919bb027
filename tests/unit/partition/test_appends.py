"""What an append leaves behind when it fails, and what of a batch's header it believes."""

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.broker.api.produce_appends import Appends, Refused
from barnabas.broker.metrics.counts import TopicTable
from barnabas.broker.network.session import OWN
from barnabas.broker.partition.config import TakesLong
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.storage.disk import DISK, Disk
from barnabas.wire.batch import crc_matches, read_header, write_crc
from barnabas.wire.compression import Codec
from barnabas.wire.produce.request import ProduceRequest
from barnabas.wire.record_validation import prepare, run
from barnabas.wire.records import Record, build_batch, iter_records
from tests.unit.broker.small_disk import SmallDisk
from tests.unit.partition.stage import NEVER, NOW, Stage

FAR = 2**62


def stage(folder: Path, disk: Disk = DISK, **settings: Any) -> Stage:
    made = Stage(folder, disk=disk)
    made.hosted.config = dataclasses.replace(made.hosted.config, **settings)
    return made


def batch(sequence: int = 0, records: int = 2, epoch: int = 0, **fields: Any) -> bytearray:
    rows = [Record(i, NOW - 1000 + i, b"k", b"v") for i in range(records)]
    return build_batch(rows, producer_id=5, producer_epoch=epoch, base_sequence=sequence, **fields)


def append(on: Stage, data: bytearray) -> int:
    return on.partition.appends.append(memoryview(data), 0, len(data), NOW, 9).base_offset


def refusal(on: Stage, data: bytearray) -> ErrorCode:
    with pytest.raises(KafkaError) as refused:
        append(on, data)
    return refused.value.code


def stored(on: Stage) -> bytes:
    log = on.partition.log
    return bytes(log.read(log.log_start_offset, 1 << 20, log.log_end_offset).read())


SPECIAL = [
    {},
    {"log_append_time": True},
    {"codec": Codec.GZIP},
    {"log_append_time": True, "codec": Codec.GZIP},
    {"keys_required": True},
]


@pytest.mark.parametrize("settings", SPECIAL)
def test_a_batch_that_is_not_appended_stays_as_it_came(tmp_path: Path, settings: dict[str, Any]) -> None:
    """The short way of Produce tries first, and the general way the same frame again: it must find what was sent."""
    disk = SmallDisk()
    here = stage(tmp_path, disk, **settings)
    append(here, batch())
    gap = batch(99)
    sent = bytes(gap)
    for _ in range(2):
        assert refusal(here, gap) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert gap == sent
    following = batch(2)
    sent = bytes(following)
    disk.full = True
    for _ in range(2):
        assert refusal(here, following) is ErrorCode.KAFKA_STORAGE_ERROR
        assert following == sent
    disk.full = False
    assert append(here, following) == 2
    repeated = bytearray(sent)
    assert append(here, repeated) == 2 and repeated == sent, "a duplicate is not changed either"
    append(here, batch(epoch=1))
    fenced = batch(4)
    sent = bytes(fenced)
    for _ in range(2):
        assert refusal(here, fenced) is ErrorCode.INVALID_PRODUCER_EPOCH
        assert fenced == sent


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
@pytest.mark.parametrize("claimed", [FAR, 2**63 - 1, NOW - 10**9, -1, -(2**63)])
def test_a_newest_timestamp_that_no_record_has_is_corrected(tmp_path: Path, codec: Codec, claimed: int) -> None:
    """It would keep its segment, and all after it, from expiring by time (or let it expire at once)."""
    here = stage(tmp_path)
    append(here, batch(max_timestamp=claimed, codec=codec))
    found = stored(here)
    assert read_header(found).max_timestamp == NOW - 999
    assert crc_matches(found, 0, len(found))
    assert here.partition.log.active_segment.max_timestamp == NOW - 999


def test_a_timestamp_that_a_record_has_is_kept_where_the_topic_takes_it(tmp_path: Path) -> None:
    here = stage(tmp_path)
    sent = build_batch([Record(0, FAR, b"k", b"v")])
    append(here, bytearray(sent))
    assert stored(here) == sent
    assert refusal(stage(tmp_path / "b", timestamp_after_max_ms=1000), sent) is ErrorCode.INVALID_TIMESTAMP
    beyond = build_batch([Record(0, 0, b"k", b"v"), Record(1, 2**63 - 1, b"k", b"v")])
    late = bytearray(beyond)
    late[27:35] = (2**62).to_bytes(8)  # the base timestamp, so that the second record lies past the largest int64
    write_crc(late)
    assert refusal(here, late) is ErrorCode.INVALID_TIMESTAMP


def test_max_message_bytes_holds_for_what_is_stored(tmp_path: Path) -> None:
    here = stage(tmp_path, codec=Codec.NONE, max_message_bytes=5000)
    sent = build_batch([Record(0, NOW, b"k", bytes(10_000))], codec=Codec.ZSTD)
    assert len(sent) < 5000
    assert refusal(here, sent) is ErrorCode.MESSAGE_TOO_LARGE
    assert here.partition.log.log_end_offset == 0


@pytest.mark.parametrize("settings", SPECIAL[1:])
def test_the_log_holds_what_the_topic_asks_for(tmp_path: Path, settings: dict[str, Any]) -> None:
    here = stage(tmp_path, **settings)
    append(here, batch(codec=Codec.LZ4))
    found = stored(here)
    header = read_header(found)
    assert crc_matches(found, 0, len(found))
    assert header.codec is settings.get("codec", Codec.LZ4)
    expected = {NOW} if "log_append_time" in settings else {NOW - 1000, NOW - 999}
    assert {record.timestamp for record in iter_records(found)} == expected
    assert header.max_timestamp == max(expected)


def test_many_records_are_not_validated_within_an_append(tmp_path: Path) -> None:
    here = stage(tmp_path, keys_required=True)
    large = build_batch([Record(0, NOW, b"k", bytes(1 << 20))], codec=Codec.ZSTD)
    for data in (batch(records=5000), large):
        sent = bytes(data)
        with pytest.raises(TakesLong) as long:
            append(here, data)
        assert data == sent and long.value.header == read_header(sent)
        validated = run(prepare(memoryview(data), long.value.header, here.hosted.config.rules, NOW))
        here.partition.appends.append(memoryview(data), 0, len(data), NOW, 9, validated=validated)
    assert here.partition.log.log_end_offset == 5001


def test_no_look_without_a_reason(tmp_path: Path) -> None:
    """An ordinary topic takes what it cannot even open: the hot path does not look."""
    here = stage(tmp_path, timestamp_after_max_ms=NEVER)
    garbage = batch(records=2)
    garbage[61:] = bytes(len(garbage) - 61)
    write_crc(garbage)
    assert append(here, garbage) == 0


def test_a_transaction_that_ends_during_the_look_is_not_opened_again(tmp_path: Path) -> None:
    """Its marker is written while the records are looked at: a batch behind it would hang for ever."""
    here = stage(tmp_path, keys_required=True)
    here.write(producer=5)
    rows = [Record(i, NOW, b"k", b"v") for i in range(5000)]
    data = build_batch(rows, producer_id=5, producer_epoch=0, base_sequence=1, transactional=True)
    frame = memoryview(data)
    request = ProduceRequest("mine", 1, 1000, [("t", None, [(0, 0, len(data))])])
    space = SimpleNamespace(ran_out=False)
    table = SimpleNamespace(get=lambda topic, index: here.hosted, counts=TopicTable())
    node: Any = SimpleNamespace(partitions=table, disk_space=space, access=None)
    work = Appends(node, OWN, request, 9, None)
    with pytest.raises(TakesLong) as long:
        work.append(frame, work.batches[0], NOW)
    work.expect_delay(frame)
    validated = run(prepare(frame, long.value.header, here.hosted.config.rules, NOW))
    here.end(5, commit=True)
    work.append(frame, work.batches[0], NOW, validated)
    [result] = work.results
    assert isinstance(result, Refused) and result.error.code is ErrorCode.INVALID_TXN_STATE
    assert here.partition.log.log_end_offset == 2
