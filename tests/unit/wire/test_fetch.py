"""Fetch answers by hand: with the records put between the pieces, they are what the codec writes."""

import random
from typing import Any

import pytest

from barnabas.wire.apis import FETCH
from barnabas.wire.fetch.answer import FetchedPartition, FetchedTopic, NodeEndpoint, fetch_response_pieces
from barnabas.wire.headers import encode_response_frame

VERSIONS = range(4, 19)
RACKED = [NodeEndpoint(1, "one", 9092, None), NodeEndpoint(2, "two", 9093, "rack")]


def glued(pieces: list[bytes], topics: list[FetchedTopic]) -> bytes:
    gaps = [part.records_bytes for _, _, partitions in topics for part in partitions if part.records_bytes]
    assert len(pieces) == len(gaps) + 1
    return pieces[0] + b"".join(b"r" * gap + piece for gap, piece in zip(gaps, pieces[1:], strict=True))


def as_body(topics: list[FetchedTopic], endpoints: list[NodeEndpoint], **top: int) -> dict[str, Any]:
    return {
        **top,
        "responses": [
            {"topic": name, "topic_id": topic_id, "partitions": [partition_body(part) for part in partitions]}
            for name, topic_id, partitions in topics
        ],
        "node_endpoints": [endpoint._asdict() for endpoint in endpoints],
    }


def partition_body(part: FetchedPartition) -> dict[str, Any]:
    body = part._asdict()
    body["records"] = b"r" * body.pop("records_bytes")
    if part.aborted_transactions is not None:
        body["aborted_transactions"] = [{"producer_id": a, "first_offset": b} for a, b in part.aborted_transactions]
    for tag, names in (
        ("diverging_epoch", ("epoch", "end_offset")),
        ("current_leader", ("leader_id", "leader_epoch")),
        ("snapshot_id", ("end_offset", "epoch")),
    ):
        body[tag] = dict(zip(names, body[tag], strict=True)) if body[tag] else {}
    return body


def random_partition(rng: random.Random) -> FetchedPartition:
    return FetchedPartition(
        rng.randrange(5),
        rng.choice([0, 0, 6]),
        rng.randrange(9999),
        rng.randrange(999),
        rng.randrange(99),
        rng.choice([0, 0, 1, 126, 127, 200, 70_000]),
        rng.choice([None, None, [], [(1, 2)], [(3, 4), (5, 6)]]),
        rng.choice([-1, 2]),
        rng.choice([None, None, None, (4, 5)]),
        rng.choice([None, None, None, (4, 5)]),
        rng.choice([None, None, None, (5, 4)]),
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_the_pieces_and_the_records_make_the_codecs_answer(version: int) -> None:
    rng = random.Random(version)
    for _ in range(200):
        topics: list[FetchedTopic] = [
            (
                "t" * rng.choice([1, 5, 126, 127, 200]),
                rng.randbytes(16),
                [random_partition(rng) for _ in range(rng.choice([0, 1, 1, 1, 2, 3]))],
            )
            for _ in range(rng.choice([0, 1, 1, 1, 2]))
        ]
        endpoints = rng.choice([[], [], RACKED])
        top = {"throttle_time_ms": rng.randrange(9), "error_code": rng.choice([0, 70]), "session_id": rng.randrange(9)}
        pieces = fetch_response_pieces(version, 7, topics, node_endpoints=endpoints, **top)
        assert glued(pieces, topics) == encode_response_frame(FETCH, version, 7, as_body(topics, endpoints, **top))


def test_a_partition_without_records_has_no_gap() -> None:
    topics: list[FetchedTopic] = [("t", bytes(16), [FetchedPartition(0), FetchedPartition(1, records_bytes=9)])]
    first, last = fetch_response_pieces(12, 1, topics)
    assert int.from_bytes(first[:4]) == len(first) - 4 + 9 + len(last)


@pytest.mark.parametrize(("version", "topic"), [(12, (None, bytes(16))), (13, ("t", None)), (13, ("t", b"short"))])
def test_a_topic_without_what_the_version_calls_it_by_is_our_mistake(version: int, topic: Any) -> None:
    for partitions in ([], [FetchedPartition(0)]):
        with pytest.raises(TypeError):
            fetch_response_pieces(version, 1, [(*topic, partitions)])
