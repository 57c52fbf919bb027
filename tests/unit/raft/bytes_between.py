"""Messages as they are after a journey as bytes: in some worlds every one of them is encoded and decoded on its way."""

from msgspec.structs import replace

from barnabas.core.raft.messages import FetchResponse, FetchSnapshotResponse, Request, Response
from barnabas.core.raft.wire_answers import response_body, response_from
from barnabas.core.raft.wire_form import request_body, request_from
from barnabas.wire import codec


def through_codec(request: Request) -> Request:
    key, version, body = request_body(request)
    return request_from(key, codec.decode_request(key, version, codec.encode_request(key, version, body)))


def answer_through_codec(request: Request, response: Response) -> Response:
    key, version, _ = request_body(request)
    # The records of the simulated disk are no bytes: they travel beside the rest.
    bare = replace(response, records=None) if isinstance(response, FetchResponse) else response
    data = codec.encode_response(key, version, response_body(bare))
    found = response_from(key, codec.decode_response(key, version, data))
    if isinstance(found, FetchResponse) and isinstance(response, FetchResponse):
        return replace(found, batches=response.batches, records=response.records)
    if isinstance(found, FetchSnapshotResponse):
        return replace(found, unaligned_records=bytes(found.unaligned_records))
    return found
