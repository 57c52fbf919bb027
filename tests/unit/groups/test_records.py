"""Records of `__consumer_offsets`: byte for byte Kafka's, and readable back."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.core.groups.records.assignments import decode_current, decode_target, encode_target
from barnabas.core.groups.records.consumer_group import (
    ConsumerGroupValue,
    decode_consumer_group,
    decode_consumer_member,
    decode_regex,
    decode_target_epoch,
)
from barnabas.core.groups.records.group_metadata import decode_classic_group
from barnabas.core.groups.records.keys import Kind, RecordKey, decode_key
from barnabas.core.groups.records.offset_commit import CommittedOffset, decode_offset
from barnabas.core.groups.records.primitives import RecordError
from barnabas.core.groups.replay import replay_record
from barnabas.model.ids import parse_uuid
from tests.unit.groups.stage import Bench, FakeTopics

CAPTURED = Path(__file__).parent / "data" / "kafka_4_3_1_consumer_offsets.txt"


def captured() -> list[tuple[bytes, bytes | None]]:
    rows = []
    for line in CAPTURED.read_text().splitlines():
        if not line.startswith("#"):
            key, value = line.split()
            rows.append((bytes.fromhex(key), None if value == "-" else bytes.fromhex(value)))
    return rows


def reencode(kind: Kind, value: bytes) -> bytes:
    match kind:
        case Kind.OFFSET:
            return decode_offset(value).encode()
        case Kind.CLASSIC_GROUP:
            return decode_classic_group(value).encode()
        case Kind.CONSUMER_GROUP:
            return decode_consumer_group(value).encode()
        case Kind.CONSUMER_MEMBER:
            return decode_consumer_member(value).encode()
        case Kind.CONSUMER_TARGET_EPOCH:
            return decode_target_epoch(value).encode()
        case Kind.CONSUMER_TARGET_MEMBER:
            return encode_target(decode_target(value))
        case Kind.CONSUMER_CURRENT_MEMBER:
            return decode_current(value).encode()
        case Kind.CONSUMER_REGEX:
            return decode_regex(value).encode()
    raise AssertionError(kind)


def test_what_kafka_wrote_we_write_the_same() -> None:
    kinds = set()
    for key, value in captured():
        parsed = decode_key(key)
        assert parsed is not None
        assert parsed.encode() == key
        if value is not None:
            kinds.add(parsed.kind)
            again = reencode(parsed.kind, value)
            # Kafka lists topics in the order of a hash map, we by id: the same bytes, in another order at most.
            several_topics = parsed.kind in (Kind.CONSUMER_TARGET_MEMBER, Kind.CONSUMER_CURRENT_MEMBER)
            assert again == value or (several_topics and sorted(again) == sorted(value)), parsed
    assert kinds == set(Kind) - {Kind.LEGACY_OFFSET, Kind.CONSUMER_PARTITION_METADATA}


@pytest.mark.parametrize("compacted", [False, True])
def test_kafkas_log_is_our_log(compacted: bool) -> None:
    bench = Bench(topics=FakeTopics(alpha=3, beta=2))
    bench.topics.ids["alpha"] = parse_uuid("Q2i5cYq_RlmU1T-hSHzqyg")
    bench.log = captured()
    bench.reload(compacted=compacted)
    states = {group.group_id: group.group_state for group in bench.call("list", {}).groups}
    assert states == {
        "g-classic": "Empty",
        "g-static": "Stable",
        "g-new": "Empty",
        "g-newstatic": "Assigning",  # our fingerprint of its topics is not Kafka's: one rebalance
        "simple": "Empty",
        "mix": "Empty",
        "allre": "Empty",
    }
    (offset,) = bench.shard.fetch_offsets("simple", [("alpha", [0])])[0]["partitions"]
    assert (offset["committed_offset"], offset["metadata"]) == (5, "hällo\x00"), "unchanged, as the client sent it"


def test_offsets_of_older_brokers_are_read() -> None:
    for version, body in (
        (0, "0000000000000007 0001 6d 0000000000000063"),
        (1, "0000000000000007 0001 6d 0000000000000063 00000000000000c8"),
        (2, "0000000000000007 0001 6d 0000000000000063"),
        (3, "0000000000000007 00000002 0001 6d 0000000000000063"),
    ):
        value = decode_offset(version.to_bytes(2, "big") + bytes.fromhex(body))
        assert (value.offset, value.metadata, value.commit_timestamp_ms) == (7, "m", 99)
        assert value.leader_epoch == (2 if version == 3 else -1)
        assert value.expire_timestamp_ms == (200 if version == 1 else -1)


def test_a_commit_with_its_own_expiry_keeps_it() -> None:
    value = CommittedOffset(5, -1, "x", 100, 900)
    assert value.encode()[:2] == b"\x00\x01"
    assert decode_offset(value.encode()) == value


def test_unknown_kinds_and_versions_are_skipped_with_a_reason() -> None:
    bench = Bench()
    assert "unknown kind 10" in str(bench.shard.replay(b"\x00\x0a\x00\x01g", b"\x00\x00"))
    assert "unknown kind 99" in str(bench.shard.replay(b"\x00\x63", None))
    key = RecordKey(Kind.OFFSET, "g", "t", 0).encode()
    assert "version 9" in str(bench.shard.replay(key, b"\x00\x09"))
    assert bench.shard.replay(RecordKey(Kind.CONSUMER_PARTITION_METADATA, "g").encode(), None) is None
    assert not bench.shard.groups


def test_tombstones_of_things_never_seen_are_fine() -> None:
    bench = Bench()
    for kind in Kind:
        assert bench.shard.replay(RecordKey(kind, "g", "m", 0).encode(), None) is None
    assert not bench.shard.groups


def test_fragments_that_compaction_left_do_not_make_members() -> None:
    bench = Bench()
    value = next(v for k, v in captured() if k[1] == Kind.CONSUMER_CURRENT_MEMBER and v is not None)
    bench.shard.replay(RecordKey(Kind.CONSUMER_GROUP, "g").encode(), ConsumerGroupValue(4).encode())
    bench.shard.replay(RecordKey(Kind.CONSUMER_CURRENT_MEMBER, "g", "ghost").encode(), value)
    bench.shard.replay(RecordKey(Kind.CONSUMER_TARGET_MEMBER, "g", "ghost").encode(), encode_target({}))
    bench.take(bench.shard.loaded(bench.now_ms))
    assert bench.shard.groups["g"].is_empty


@given(st.sampled_from(captured()), st.integers(0, 200), st.binary(max_size=4))
def test_damaged_records_never_do_more_than_be_skipped(row: tuple[bytes, bytes | None], cut: int, tail: bytes) -> None:
    bench = Bench()
    key, value = row
    bench.shard.replay(key, None if value is None else value[:cut] + tail)
    bench.shard.replay(key[: cut % (len(key) + 1)] + tail, value)
    bench.take(bench.shard.loaded(bench.now_ms))


def test_a_record_that_ends_early_says_so() -> None:
    with pytest.raises(RecordError, match="ends after"):
        decode_offset(b"\x00\x03\x00")
    with pytest.raises(RecordError, match="array of"):
        decode_target(b"\x00\x00\xff\xff\x03")
    bench = Bench()
    assert replay_record(bench.shard._world, b"", None) is not None
