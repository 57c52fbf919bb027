"""What one client writes, every other reads: six clients, five codecs, both directions, byte for byte.

One topic a codec with a partition for each writer; every reader reads all of it.
"""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.records import READERS, WRITERS, Rec, Tools, corpus
from tests.support.wire import FETCH, WireClient, fetch_body, read_batches

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
NAMES = tuple(WRITERS)


@pytest.fixture(scope="module")
def written(tools: Tools, admin: AdminClient) -> dict[str, tuple[str, dict[str, list[Rec]]]]:
    """codec -> (topic, what each writer wrote)."""
    import uuid

    run = uuid.uuid4().hex[:8]
    topics = {codec: f"matrix-{codec}-{run}" for codec in CODECS}
    for future in admin.create_topics([NewTopic(name, len(NAMES), 1) for name in topics.values()]).values():
        future.result(20)
    out = {}
    for codec, topic in topics.items():
        by_writer = {}
        for partition, writer in enumerate(NAMES):
            by_writer[writer] = corpus(partition, writer)
            WRITERS[writer](tools, topic, codec, by_writer[writer])
        out[codec] = (topic, by_writer)
    return out


@pytest.mark.timeout(120)
@pytest.mark.parametrize("codec", CODECS)
def test_batches_arrive_in_the_codec_that_was_asked_for(written: dict[str, Any], wire: WireClient, codec: str) -> None:
    """Without this the matrix could pass with nothing compressed at all."""
    topic, by_writer = written[codec]
    for partition, writer in enumerate(by_writer):
        answer = wire.call(FETCH, 11, fetch_body(topic, 0, partition=partition))
        batches = read_batches(answer["responses"][0]["partitions"][0]["records"])
        assert batches, writer
        found = {b["attributes"] & 7 for b in batches}
        assert CODECS.index(codec) in found, writer
        assert found <= {0, CODECS.index(codec)}, writer  # a client leaves a batch as it is that would only grow


@pytest.mark.timeout(120)
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("reader", NAMES)
def test_what_all_wrote_this_one_reads(written: dict[str, Any], tools: Tools, reader: str, codec: str) -> None:
    topic, by_writer = written[codec]
    found = READERS[reader](tools, topic)
    for partition, (writer, expected) in enumerate(by_writer.items()):
        got = [r for r in found if r.partition == partition]
        assert [r.offset for r in got] == list(range(len(expected))), f"{writer} -> {reader}: offsets"
        for want, have in zip(expected, got, strict=True):
            assert (have.key, have.value) == (want.key, want.value), f"{writer} -> {reader} at {have.offset}"
            # kcat prints an empty and a null header the same; every other client tells them apart
            assert have.headers == want.headers, f"{writer} -> {reader} at {have.offset}"
            if want.timestamp >= 0:
                assert have.timestamp == want.timestamp, f"{writer} -> {reader} at {have.offset}"
