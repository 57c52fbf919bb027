"""The throttle time is written into finished answers: of every API and version that has one, and nothing else moves."""

import pytest

from barnabas.wire.apis import API_VERSIONS, PRODUCE, SERVED, Api
from barnabas.wire.codec import decode_response, encode_response
from barnabas.wire.headers import response_frame, response_header_bytes
from barnabas.wire.produce.answer import produce_success_frame
from barnabas.wire.schema import load
from barnabas.wire.throttle_time import throttle_time, with_throttle_time

TIME_MS = 0x01020304
CLIENTS = [api for api in SERVED.values() if not api.between_nodes]


def body(api: Api) -> dict[str, object]:
    if api.key == API_VERSIONS:
        keys = [{"api_key": key, "min_version": 0, "max_version": 3} for key in range(200)]
        return {"error_code": 0, "api_keys": keys, "finalized_features": [{"name": "f", "max_version_level": 1}]}
    if api.key == PRODUCE:
        return {"responses": [{"name": "t", "partition_responses": [{"index": 1}] * 3}]}
    return {}


@pytest.mark.parametrize("api", CLIENTS, ids=lambda api: api.name)
def test_the_place_is_right_in_every_version(api: Api) -> None:
    for version in range(api.min_version, api.max_version + 1):
        answer = response_frame(api.key, version, 7, encode_response(api.key, version, body(api)))
        changed = with_throttle_time(api.key, version, answer, TIME_MS)
        shape = load(api.name).shape("response", version)
        if not any(field.name == "throttle_time_ms" for field in shape.fields):
            assert changed == answer and throttle_time(api.key, version, answer) == 0
            continue
        position = 4 + response_header_bytes(api.key, version)
        before, after = (decode_response(api.key, version, data, position) for data in (answer, changed))
        assert throttle_time(api.key, version, changed) == TIME_MS
        told = {name: getattr(after, name) for name in after.__struct_fields__}
        assert told.pop("throttle_time_ms") == TIME_MS
        assert told == {name: getattr(before, name) for name in told}


@pytest.mark.parametrize("version", range(3, 14))
def test_the_short_way_of_produce(version: int) -> None:
    name, topic_id = ("a topic", None) if version < 13 else (None, bytes(16))
    answer, throttled = (produce_success_frame(version, 7, name, topic_id, 2, 3, 4, 5, t) for t in (0, TIME_MS))
    assert with_throttle_time(PRODUCE, version, answer, TIME_MS) == throttled
