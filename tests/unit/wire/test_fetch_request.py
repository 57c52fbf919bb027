"""The Fetch request of followers and links: the hand-packed bytes are those of the compiled writer."""

import pytest
from hypothesis import given
from hypothesis.strategies import binary, booleans, dictionaries, integers, lists, tuples

from barnabas.broker.replication.fetch_settings import FetchLimits
from barnabas.wire.codec import encode_request
from barnabas.wire.fetch.request import FIRST_VERSION, VERSION, Wanted, fetch_body

INT32 = integers(-(2**31), 2**31 - 1)
INT64 = integers(-(2**63), 2**63 - 1)
IDS = binary(min_size=16, max_size=16)
LIMITS = FetchLimits(500, 1, 10_485_760, 1_048_576, 30_000, 1.0)


@given(
    dictionaries(IDS, lists(tuples(INT32, INT32, INT64, INT32, INT64, INT32), min_size=1, max_size=130), max_size=3),
    dictionaries(IDS, lists(INT32, min_size=1, max_size=4), max_size=3),
    INT32,
    INT64,
    tuples(INT32, INT32),
    booleans(),
)
def test_the_same_bytes_as_the_compiled_writer(
    topics: dict[bytes, list[tuple[int, int, int, int, int, int]]],
    forgotten: dict[bytes, list[int]],
    replica_id: int,
    broker_epoch: int,
    session: tuple[int, int],
    continues: bool,
) -> None:
    if (replica_id, broker_epoch) == (-1, -1):  # the writer leaves out a tag at its default
        replica_id = 1
    wanted = {topic: [Wanted(*item) for item in items] for topic, items in topics.items()}
    body = _body(wanted, forgotten, session) | {
        "replica_state": {"replica_id": replica_id, "replica_epoch": broker_epoch},
        "continues": continues,
    }
    made = fetch_body(session, wanted, forgotten, LIMITS, (replica_id, broker_epoch), continues=continues)
    assert made == encode_request(1, VERSION, body)


@pytest.mark.parametrize("version", range(FIRST_VERSION, VERSION + 1))
def test_a_consumer_is_no_replica(version: int) -> None:
    wanted = {bytes(16): [Wanted(0, 3, 42, 2, -1, 1_000)]}
    body = _body(wanted, {}, (7, 1)) | {"replica_id": -1}
    assert fetch_body((7, 1), wanted, {}, LIMITS, None, version) == encode_request(1, version, body)


def _body(
    wanted: dict[bytes, list[Wanted]], forgotten: dict[bytes, list[int]], session: tuple[int, int]
) -> dict[str, object]:
    return {
        "max_wait_ms": LIMITS.wait_ms,
        "min_bytes": LIMITS.min_bytes,
        "max_bytes": LIMITS.max_bytes,
        "isolation_level": 0,
        "session_id": session[0],
        "session_epoch": session[1],
        "topics": [
            {"topic_id": topic, "partitions": [item._asdict() for item in items]} for topic, items in wanted.items()
        ],
        "forgotten_topics_data": [{"topic_id": topic, "partitions": gone} for topic, gone in forgotten.items()],
    }
