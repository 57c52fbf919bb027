"""Produce by hand: the parser against the compiled reader, the quick answer against the compiled writer."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.model.limits import PRODUCE_PARTITIONS_MAX
from barnabas.wire import codec
from barnabas.wire.apis import PRODUCE
from barnabas.wire.codec import ProtocolError
from barnabas.wire.headers import encode_response_frame
from barnabas.wire.produce.answer import produce_success_answer, produce_success_frame
from barnabas.wire.produce.request import parse_produce, parse_single
from barnabas.wire.varints import uvarint_bytes

VERSIONS = range(3, 14)
names = st.text("abc-ä", min_size=0, max_size=5) | st.just("n" * 200)
records = (
    st.none()
    | st.binary(max_size=3)
    | st.sampled_from([bytes(126), bytes(127), bytes(128), bytes(20_000), bytes(3_000_000)])
)
partitions = st.lists(st.fixed_dictionaries({"index": st.integers(-5, 10), "records": records}), max_size=3)
bodies = st.fixed_dictionaries(
    {
        "transactional_id": st.none() | names,
        "acks": st.sampled_from([-1, 0, 1]),
        "timeout_ms": st.integers(-1, 2**31 - 1),
        "topic_data": st.lists(
            st.fixed_dictionaries(
                {"name": names, "topic_id": st.binary(min_size=16, max_size=16), "partition_data": partitions}
            ),
            max_size=3,
        ),
    }
)


@given(bodies, st.sampled_from(VERSIONS))
def test_the_parser_finds_what_the_codec_finds(body: dict[str, object], version: int) -> None:
    data = memoryview(bytearray(b"header" + codec.encode_request(PRODUCE, version, body)))
    request = parse_produce(data, 6, version)
    wanted = codec.decode_request(PRODUCE, version, data, 6)
    assert request[:3] == (wanted.transactional_id, wanted.acks, wanted.timeout_ms)
    assert len(request.topics) == len(wanted.topic_data)
    for (name, topic_id, found), topic in zip(request.topics, wanted.topic_data, strict=True):
        assert (name, topic_id) == ((None, topic.topic_id) if version >= 13 else (topic.name, None))
        assert [index for index, _, _ in found] == [partition.index for partition in topic.partition_data]
        for (_, start, end), partition in zip(found, topic.partition_data, strict=True):
            assert (None if start < 0 else data[start:end]) == partition.records


@pytest.mark.parametrize("version", range(9, 14))
def test_tags_nobody_knows_are_skipped(version: int) -> None:
    body = {"topic_data": [{"name": "t", "partition_data": [{"index": 1, "records": b"r"}]}]}
    data = codec.encode_request(PRODUCE, version, body)
    assert data[-3:] == bytes(3)
    tag = bytes((1, 9, 2)) + b"zz"
    request = parse_produce(data[:-3] + tag * 3, 0, version)
    assert len(request.topics[0][2]) == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_a_request_cut_anywhere_is_refused(version: int) -> None:
    topics = [
        {"name": "topic", "partition_data": [{"index": 0, "records": b"r" * 200}, {"index": 1, "records": None}]}
    ] * 2
    data = codec.encode_request(PRODUCE, version, {"transactional_id": "tx", "topic_data": topics})
    for cut in range(len(data)):
        with pytest.raises(ProtocolError):
            parse_produce(data[:cut], 0, version)


@pytest.mark.parametrize("count", [0, PRODUCE_PARTITIONS_MAX + 2, 2**31, 2**32 - 1])
def test_counts_that_cannot_be_are_refused(count: int) -> None:
    head = b"\x00" + bytes(6)
    with pytest.raises(ProtocolError):
        parse_produce(head + uvarint_bytes(count) + bytes(100), 0, 9)
    with pytest.raises(ProtocolError):
        parse_produce(head + b"\x02\x02t" + uvarint_bytes(count) + bytes(100), 0, 9)
    if count:
        legacy = b"\xff\xff" + bytes(6)
        with pytest.raises(ProtocolError):
            parse_produce(legacy + count.to_bytes(4) + bytes(100), 0, 3)
        with pytest.raises(ProtocolError):
            parse_produce(legacy + b"\0\0\0\1\0\1t" + count.to_bytes(4) + bytes(100), 0, 3)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_partitions_of_all_topics_count_together(version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    topics = [{"name": "t", "partition_data": [{"index": index, "records": b"r"} for index in range(4)]}] * 2
    data = codec.encode_request(PRODUCE, version, {"topic_data": topics})
    monkeypatch.setattr("barnabas.wire.produce.request.PRODUCE_PARTITIONS_MAX", 20)
    assert len(parse_produce(data, 0, version).topics) == 2
    monkeypatch.setattr("barnabas.wire.produce.request.PRODUCE_PARTITIONS_MAX", 9)
    with pytest.raises(ProtocolError, match="partitions"):
        parse_produce(data, 0, version)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_quick_answer_is_the_codecs_answer(version: int) -> None:
    rng = random.Random(version)
    for name in ("t", "topic-name", "x" * 126, "x" * 127, "x" * 249):
        topic_id, index, offset, start = rng.randbytes(16), rng.randrange(99), rng.randrange(1 << 40), rng.randrange(99)
        append_time, throttle = rng.choice((-1, 1_700_000_000_000)), rng.randrange(5)
        partition = {
            "index": index,
            "base_offset": offset,
            "log_append_time_ms": append_time,
            "log_start_offset": start,
        }
        responses = [{"name": name, "topic_id": topic_id, "partition_responses": [partition]}]
        body = {"responses": responses, "throttle_time_ms": throttle}
        wanted = encode_response_frame(PRODUCE, version, 77, body)
        assert produce_success_frame(version, 77, name, topic_id, index, offset, start, append_time, throttle) == wanted


@pytest.mark.parametrize("version", range(3, 14))
@pytest.mark.parametrize("records_bytes", [1, 100, 126, 127, 16_381, 16_382, 16_383, 40_000, 2_100_000])
def test_the_quick_reader_agrees_with_the_full_one(version: int, records_bytes: int) -> None:
    records = bytes(range(256)) * (records_bytes // 256 + 1)
    topic = {
        "name": "clicks",
        "topic_id": bytes(range(16)),
        "partition_data": [{"index": 7, "records": records[:records_bytes]}],
    }
    body = codec.encode_request(0, version, {"acks": -1, "timeout_ms": 500, "topic_data": [topic]})
    full = parse_produce(b"junk" + body, 4, version)
    quick = parse_single(b"junk" + body, 4, version)
    assert quick is not None
    name, topic_id, ((index, start, end),) = full.topics[0]
    assert quick == (full.acks, full.timeout_ms, name, topic_id, index, start, end)
    for cut in (*range(min(len(body), 60)), len(body) - 1):
        assert parse_single(body[:cut], 0, version) is None


@pytest.mark.parametrize("version", range(3, 14))
def test_the_quick_reader_leaves_the_rest_to_the_full_one(version: int) -> None:
    part = {"index": 0, "records": b"abc"}
    topic = {"name": "t", "topic_id": bytes(16), "partition_data": [part]}
    changes: tuple[dict[str, Any], ...] = (
        {"transactional_id": "tx", "topic_data": [topic]},
        {"topic_data": []},
        {"topic_data": [topic, topic]},
        {"topic_data": [topic | {"partition_data": [part, part]}]},
        {"topic_data": [topic | {"partition_data": []}]},
        {"topic_data": [topic | {"partition_data": [part | {"records": None}]}]},
        {"topic_data": [topic | {"partition_data": [part | {"records": b""}]}]},
    )
    for change in changes:
        body = codec.encode_request(0, version, {"acks": 1, "timeout_ms": 5, **change})
        assert parse_single(body, 0, version) is None
        parse_produce(body, 0, version)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_quick_answer_for_several_partitions_is_the_codecs_answer(version: int) -> None:
    rng = random.Random(version)
    for counts in ([], [0], [1], [2, 1], [200, 3, 0]):
        topics = [
            (
                "x" * rng.choice((1, 126, 127, 249)),
                rng.randbytes(16),
                [(i, rng.randrange(1 << 60), rng.choice((-1, 1 << 40)), rng.randrange(99)) for i in range(count)],
            )
            for count in counts
        ]
        names = ("index", "base_offset", "log_append_time_ms", "log_start_offset")
        responses = [
            {
                "name": name,
                "topic_id": topic_id,
                "partition_responses": [dict(zip(names, i, strict=True)) for i in items],
            }
            for name, topic_id, items in topics
        ]
        expected = encode_response_frame(PRODUCE, version, 77, {"responses": responses})
        assert produce_success_answer(version, 77, topics) == expected
