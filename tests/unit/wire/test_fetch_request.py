"""A follower's Fetch request: the hand-packed bytes are those of the compiled writer."""

from hypothesis import given
from hypothesis.strategies import binary, dictionaries, integers, lists, tuples

from barnabas.wire.codec import encode_request
from barnabas.wire.fetch_request import VERSION, Wanted, follower_fetch

INT32 = integers(-(2**31), 2**31 - 1)
INT64 = integers(-(2**63), 2**63 - 1)
IDS = binary(min_size=16, max_size=16)


@given(
    dictionaries(IDS, lists(tuples(INT32, INT32, INT64, INT32, INT64, INT32), min_size=1, max_size=130), max_size=3),
    dictionaries(IDS, lists(INT32, min_size=1, max_size=4), max_size=3),
    INT32,
    INT64,
    tuples(INT32, INT32),
)
def test_the_same_bytes_as_the_compiled_writer(
    topics: dict[bytes, list[tuple[int, int, int, int, int, int]]],
    forgotten: dict[bytes, list[int]],
    replica_id: int,
    broker_epoch: int,
    session: tuple[int, int],
) -> None:
    if (replica_id, broker_epoch) == (-1, -1):  # the writer leaves out a tag at its default
        replica_id = 1
    wanted = {topic: [Wanted(*item) for item in items] for topic, items in topics.items()}
    limits = {"max_wait_ms": 500, "min_bytes": 1, "max_bytes": 10_485_760}
    body = limits | {
        "isolation_level": 0,
        "session_id": session[0],
        "session_epoch": session[1],
        "replica_state": {"replica_id": replica_id, "replica_epoch": broker_epoch},
        "topics": [
            {"topic_id": topic, "partitions": [item._asdict() for item in items]} for topic, items in wanted.items()
        ],
        "forgotten_topics_data": [{"topic_id": topic, "partitions": gone} for topic, gone in forgotten.items()],
    }
    made = follower_fetch(replica_id, broker_epoch, session, wanted, forgotten, **limits)
    assert made == encode_request(1, VERSION, body)
