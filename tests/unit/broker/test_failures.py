"""A request that fails as a whole: the code reaches the client, in every version of every API.

An answer without it would be taken for a yes: no partition refused, so all of them taken.
"""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.broker.api.failures import failure_body
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.wire import codec
from barnabas.wire.apis import SERVED

CODE = ErrorCode.KAFKA_STORAGE_ERROR
TOPICS = [{"name": "t", "partitions": [0, 1]}]
INDEXED = [{"name": "t", "partition_indexes": [0, 1]}]
OFFSETS = [{"name": "t", "partitions": [{"partition_index": 0}, {"partition_index": 1}]}]
REQUESTS: dict[str, tuple[dict[str, Any], int]] = {
    "add_partitions_to_txn": (
        {"v3_and_below_topics": TOPICS, "transactions": [{"transactional_id": "x", "topics": TOPICS}]},
        2,
    ),
    "txn_offset_commit": ({"topics": OFFSETS}, 2),
    "write_txn_markers": ({"markers": [{"producer_id": 7, "topics": INDEXED}]}, 2),
    "describe_producers": ({"topics": INDEXED}, 2),
    "describe_transactions": ({"transactional_ids": ["x", "y"]}, 2),
    "add_offsets_to_txn": ({}, 1),
    "end_txn": ({}, 1),
    "init_producer_id": ({}, 1),
    "list_transactions": ({}, 1),
    "offset_commit": ({"topics": OFFSETS}, 2),
}
CASES = [
    (api.key, version, *REQUESTS[api.name])
    for api in SERVED.values()
    if api.name in REQUESTS
    for version in range(api.min_version, api.max_version + 1)
]


def codes(answer: Any) -> int:
    """How often the answer says the code."""
    if isinstance(answer, list):
        return sum(map(codes, answer))
    names = getattr(answer, "__slots__", None) or getattr(answer, "__dict__", {})
    if not names:
        return 0
    found = sum(codes(getattr(answer, name)) for name in names if not name.endswith("error_code"))
    return found + len([name for name in names if name.endswith("error_code") and getattr(answer, name) == CODE])


@pytest.mark.parametrize(("api_key", "version", "fields", "least"), CASES)
def test_the_code_is_told(api_key: int, version: int, fields: dict[str, Any], least: int) -> None:
    strict, codec.STRICT = codec.STRICT, False
    try:
        known = codec.encode_request(api_key, version, fields)
    finally:
        codec.STRICT = strict
    request = codec.decode_request(api_key, version, known)
    body = failure_body(api_key, version, request, KafkaError(CODE, "no"))
    answer = codec.decode_response(api_key, version, codec.encode_response(api_key, version, body))
    assert codes(answer) >= least
