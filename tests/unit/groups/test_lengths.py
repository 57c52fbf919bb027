"""Texts that no record can carry are refused before they become part of a group."""

from typing import Any

import pytest

from barnabas.model.errors import ErrorCode
from tests.unit.groups.stage import Bench, ClassicClient, ConsumerClient, commit, join_body, stable_group

LONG = "x" * 40_000
WIDE = "\N{EURO SIGN}" * 11_000  # 33,000 bytes in 11,000 characters


@pytest.mark.parametrize("text", [LONG, WIDE])
@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"group_id": LONG}, ErrorCode.INVALID_GROUP_ID),
        ({"member_id": LONG}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"group_instance_id": LONG}, ErrorCode.INVALID_REQUEST),
        ({"protocol_type": LONG}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": [{"name": LONG, "metadata": b""}]}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_a_join_with_a_text_that_is_too_long(fields: dict[str, Any], code: ErrorCode, text: str) -> None:
    bench = Bench()
    if "protocols" in fields:
        fields = {"protocols": [{"name": text, "metadata": b""}]}
    else:
        fields = dict.fromkeys(fields, text)
    assert bench.call("join", join_body() | fields).error_code == code
    assert bench.call("list", {}).groups == []
    assert bench.log == []


def test_an_instance_id_leaves_space_for_the_uuid_of_the_member_id() -> None:
    bench = Bench()
    assert bench.call("join", join_body(group_instance_id="i" * 32_740)).error_code == ErrorCode.INVALID_REQUEST
    static = ClassicClient(bench, group_instance_id="i" * 32_730).start()
    stable_group(bench, static)
    bench.reload()


def test_a_client_id_leaves_space_for_the_uuid_of_the_member_id() -> None:
    bench = Bench()
    answer = bench.call("join", join_body(), version=5, client_id="c" * 32_767)
    assert answer.error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("field", "code"),
    [
        ("group_id", ErrorCode.INVALID_GROUP_ID),
        ("member_id", ErrorCode.INVALID_REQUEST),
        ("instance_id", ErrorCode.INVALID_REQUEST),
        ("rack_id", ErrorCode.INVALID_REQUEST),
        ("server_assignor", ErrorCode.INVALID_REQUEST),
        ("subscribed_topic_regex", ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_consumer_heartbeat_with_a_text_that_is_too_long(field: str, code: ErrorCode) -> None:
    bench = Bench()
    good = ConsumerClient(bench, "good")
    good.join()
    before = list(bench.log)
    bad = ConsumerClient(bench, "bad")
    assert bad.join(**{field: LONG}).error_code == code
    assert bad.join(subscribed_topic_names=["alpha", LONG]).error_code == ErrorCode.INVALID_REQUEST
    assert bench.log == before
    assert good.beat().error_code == 0
    assert len(good.names) == 4
    bench.reload()


def test_commits_that_no_record_can_carry() -> None:
    bench = Bench()
    bench.config = type(bench.config)(offset_metadata_max_bytes=100_000)
    bench.shard.update_config(bench.config)
    one = {("alpha", 0): 7}
    assert commit(bench, LONG, one) == [ErrorCode.INVALID_GROUP_ID]
    assert commit(bench, "g", one, metadata=LONG) == [ErrorCode.OFFSET_METADATA_TOO_LARGE]
    assert commit(bench, "g", one, metadata="y" * 32_767) == [0]
    topics = [{"name": "alpha", "partitions": [{"partition_index": 0, "committed_offset": 8}]}]
    body = {"group_id": "g", "generation_id_or_member_epoch": -1, "member_id": "", "topics": topics}
    answer = bench.call("offset_commit", body | {"retention_time_ms": 2**63 - 1}, version=4)
    assert answer.topics[0].partitions[0].error_code == 0
    bench.reload()
