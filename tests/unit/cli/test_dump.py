"""log dump against files made here: what it shows, what it finds damaged, and that no bytes break it."""

import json
from pathlib import Path
from struct import pack
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from barnabas.cli.main import main
from barnabas.core.cluster.record_codec import encode_record
from barnabas.core.cluster.records import Endpoint, RegisterBroker, TopicRecord
from barnabas.core.groups.records.keys import Kind, RecordKey
from barnabas.core.groups.records.offset_commit import CommittedOffset
from barnabas.model.ids import uuid_text
from barnabas.model.producers import ProducerEntry
from barnabas.storage.snapshots import encode
from barnabas.wire.compression import Codec
from barnabas.wire.records import Record, build_batch

NAME = "00000000000000000010"
ALIVE = RegisterBroker(
    broker_id=1, incarnation_id=bytes(16), broker_epoch=5, endpoints=(Endpoint("P", "PLAINTEXT", "h", 9),)
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A partition with two batches at offsets 10-11 and 12, and everything beside it."""
    found = tmp_path / "views-0"
    found.mkdir()
    first = build_batch(
        [Record(10, 1000, b"k", b"one"), Record(11, 1001, None, None, (("h", b"1"),))], codec=Codec.ZSTD
    )
    second = build_batch([Record(12, 1002, b"\xff", b"two")], producer_id=7, producer_epoch=0, base_sequence=0)
    (found / f"{NAME}.log").write_bytes(bytes(first) + bytes(second))
    (found / f"{NAME}.index").write_bytes(pack(">ii", 2, len(first)))
    (found / f"{NAME}.timeindex").write_bytes(pack(">qi", 1002, 2))
    (found / f"{NAME}.snapshot").write_bytes(encode([ProducerEntry(7, 0, 0, 12, 0, 1002)]))
    (found / "leader-epoch-checkpoint").write_text("0\n1\n0 10\n")
    (found / "partition.metadata").write_text("version: 0\ntopic_id: abc\n")
    return found


def dumped(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, object]]:
    code = main(["log", "dump", "--json", *arguments])
    captured = capsys.readouterr()
    rows = [json.loads(line) for line in captured.out.splitlines()]
    assert code == (1 if any(row["kind"] == "damage" for row in rows) else 0), captured.err
    return rows


def test_a_folder_is_whole(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = dumped(capsys, str(folder), "--records", "--verify")
    batches = [row for row in rows if row["kind"] == "batch"]
    assert [(row["base_offset"], row["last_offset"], row["codec"]) for row in batches] == [
        (10, 11, "zstd"),
        (12, 12, "none"),
    ]
    records = [(row["offset"], row["key"], row["value"]) for row in rows if row["kind"] == "record"]
    assert records == [(10, "k", "one"), (11, None, None), (12, "\\xff", "two")]
    assert {row["file"].rpartition("/")[2]: row for row in rows if row["kind"] == "entry"}.keys() == {  # type: ignore[attr-defined]
        f"{NAME}.index", f"{NAME}.timeindex", f"{NAME}.snapshot", "leader-epoch-checkpoint", "partition.metadata",
    }  # fmt: skip


def test_text_for_people(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "dump", str(folder / f"{NAME}.log"), "--records"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("  position 0  base_offset 10  last_offset 11  records 2")
    assert lines[2].startswith("      offset 10  timestamp 1970-01-01") and lines[2].endswith("key k  value one")
    assert "headers h=1" in lines[3]


def test_a_flipped_byte_is_found_and_the_rest_still_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = folder / f"{NAME}.log"
    data = bytearray(log.read_bytes())
    data[70] ^= 1
    log.write_bytes(data)
    rows = dumped(capsys, str(log))
    assert [row["kind"] for row in rows] == ["batch", "damage", "batch"]
    assert rows[1]["position"] == 0


def test_a_torn_tail_is_found(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = folder / f"{NAME}.log"
    log.write_bytes(log.read_bytes()[:-5])
    rows = dumped(capsys, str(log))
    assert [row["kind"] for row in rows] == ["batch", "damage"]


def test_an_index_that_points_elsewhere(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / f"{NAME}.index").write_bytes(pack(">ii", 2, 5) + b"\0")
    (folder / f"{NAME}.timeindex").write_bytes(pack(">qi", 1002, 99))
    assert [row["kind"] for row in dumped(capsys, str(folder / f"{NAME}.index"))] == ["entry", "damage"]
    rows = dumped(capsys, str(folder), "--verify")
    assert sum(row["kind"] == "damage" for row in rows) == 3


def test_the_padding_of_an_open_kafka_index_is_no_damage(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index = folder / f"{NAME}.index"
    index.write_bytes(index.read_bytes() + bytes(800))
    assert [row["kind"] for row in dumped(capsys, str(index), "--verify")] == ["entry"]
    index.write_bytes(bytes(800))
    assert dumped(capsys, str(index), "--verify") == []


def test_committed_offsets_are_decoded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "__consumer_offsets-3"
    folder.mkdir()
    key = RecordKey(Kind.OFFSET, "billing", "views", 2).encode()
    value = CommittedOffset(41, 0, "note", 1_777_630_000_000).encode()
    batch = build_batch([Record(0, 1, key, value), Record(1, 2, key, None), Record(2, 3, b"\0\x63", b"x")])
    (folder / "00000000000000000000.log").write_bytes(batch)
    rows = [row for row in dumped(capsys, str(folder), "--records") if row["kind"] == "record"]
    assert [row["offset"] for row in rows] == [0, 1, 2]
    decoded: list[Any] = [row["decoded"] for row in rows]
    assert (decoded[0]["type"], decoded[0]["group"], decoded[0]["topic"]) == ("offset", "billing", "views")
    assert (decoded[0]["partition"], decoded[0]["offset"], decoded[0]["metadata"]) == (2, 41, "note")
    assert decoded[1]["deleted"] is True
    assert decoded[2]["type"] == "of another group type"


def test_metadata_is_decoded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    value = b'{"type":"topic","name":"views","topic_id":"kFAuYvquYa3TpRDEODpYKw=="}'
    topic = TopicRecord(name="views", topic_id=bytes(range(16)))
    values = (value, b"\1", encode_record(topic), encode_record(ALIVE))
    (folder / "00000000000000000000.log").write_bytes(
        build_batch([Record(at, 1, None, each) for at, each in enumerate(values)])
    )
    rows = [row for row in dumped(capsys, str(folder), "--records") if row["kind"] == "record"]
    assert rows[0]["decoded"] == {"type": "topic", "name": "views", "topic_id": "kFAuYvquYa3TpRDEODpYKw"}
    assert rows[1]["decoded"] == {"value": "01", "unreadable": "a metadata record that is cut short"}
    shown = {"type": "topic_record", "version": 0, "name": "views", "topic_id": uuid_text(bytes(range(16)))}
    assert rows[2]["decoded"] == shown
    decoded: Any = rows[3]["decoded"]
    assert decoded["end_points"] == [{"name": "P", "host": "h", "port": 9, "security_protocol": 0}], decoded


FILES = (
    f"{NAME}.log",
    f"{NAME}.index",
    f"{NAME}.timeindex",
    f"{NAME}.snapshot",
    "leader-epoch-checkpoint",
    "meta.properties",
)


@pytest.fixture
def tracing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not a Failure comes out as it is."""
    monkeypatch.setenv("BARNABAS_TRACE", "1")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.sampled_from(FILES), st.binary(max_size=200))
def test_no_bytes_break_it(tmp_path: Path, tracing: None, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    assert main(["log", "dump", str(tmp_path / name), "--records", "--verify"]) in (0, 1)
