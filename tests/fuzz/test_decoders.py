"""Spoilt bytes into every decoder: nothing comes out but a message or a protocol error. Where the usual request has a
quicker reader, that one says the same as the full one, or leaves the request to it."""

import random
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from barnabas.wire import codec
from barnabas.wire.apis import PRODUCE, SERVED
from barnabas.wire.batch import HEADER_BYTES, iter_batches, read_header
from barnabas.wire.compression import Codec, compress, decompress
from barnabas.wire.frames import frame_end
from barnabas.wire.headers import read_request_header, request_header, skim_request_header
from barnabas.wire.produce.request import parse_produce, parse_single
from barnabas.wire.record_validation import Rules, prepare, run
from barnabas.wire.records import Record, build_batch, iter_records
from barnabas.wire.schema_ids import SchemaRules, id_identifier
from barnabas.wire.validate import validate_for_produce
from tests.fuzz.connections import received
from tests.fuzz.inputs import random_batch, request_seeds, spoil
from tests.fuzz.rounds import SEED, TOTAL, Target, refused_of_spoilt, try_one

MAX_OPENED_BYTES = 1 << 20


def requests(rng: random.Random) -> list[Target]:
    return [(partial(codec.decode_request, key, version), body) for key, version, body in request_seeds(rng, each=8)]


def produces(rng: random.Random) -> list[Target]:
    return [(partial(_produce, version), body) for key, version, body in request_seeds(rng, each=8) if key == PRODUCE]


def _produce(version: int, data: bytes) -> Any:
    return parse_produce(memoryview(data), 0, version)


def singles(rng: random.Random) -> list[Target]:
    """The usual request of a producer, which the short path of Produce reads by itself."""
    found: list[Target] = []
    for version in range(3, SERVED[PRODUCE].max_version + 1):
        for acks in (-1, 0, 1):
            partition = {"index": rng.randrange(9), "records": bytes(random_batch(rng))}
            topic = {"name": "orders", "topic_id": rng.randbytes(16), "partition_data": [partition]}
            body = {"transactional_id": None, "acks": acks, "timeout_ms": 1500, "topic_data": [topic]}
            data = codec.encode_request(PRODUCE, version, body)
            assert parse_single(data, 0, version) is not None
            found.append((partial(_single, version), data))
    no_records = [b"\x80\x00", b"\x81\x00", b"\x80\x80\x00", b"\x81\x80\x00"]  # lengths in more bytes than they take
    return found + [(partial(_single, 9), _NOTHING_OF_T + length + bytes(8)) for length in no_records]


_NOTHING_OF_T = bytes.fromhex("00 0001 000005dc 02 02 74 02 00000000")  # up to the length of the records


def _single(version: int, data: bytes) -> None:
    quick = parse_single(memoryview(data), 0, version)
    whole = parse_produce(memoryview(data), 0, version)  # refuses what the quick reader may only leave to it
    if quick is None:
        return
    ((name, topic_id, (place,)),) = whole.topics
    assert whole.transactional_id is None
    assert quick == (whole.acks, whole.timeout_ms, name, topic_id, *place)


def headers(rng: random.Random) -> list[Target]:
    found: list[Target] = []
    for key, version, _ in request_seeds(rng, each=1):
        data = request_header(key, version, rng.randrange(1 << 31), "client-ä") + b"\x00" * 9
        found += [(read_request_header, data), (_skimmed, data)]
    return found


def _skimmed(data: bytes) -> None:
    """What every request goes through: a place for the body is where the full reader finds it."""
    *told, position = skim_request_header(data)
    if position >= 0:
        header = read_request_header(data)  # refuses a client id that is no text
        assert (*told, position) == (header.api_key, header.api_version, header.correlation_id, header.body_position)


def frames(rng: random.Random) -> list[Target]:
    def cut(data: bytes) -> None:
        behind = frame_end(bytearray(data), 0, len(data), 1 << 16)
        assert behind == 0 or 12 <= behind <= (1 << 16) + 4

    def receive(data: bytes) -> None:
        """The connection itself, with the bytes in pieces: what it handles lies whole within what came."""
        handled = received(data, rng)
        assert sum(4 + len(frame) for frame in handled) <= len(data)

    frames = [len(body).to_bytes(4) + body for _, _, body in request_seeds(rng, each=1)]
    runs = [b"".join(rng.choices(frames, k=rng.randrange(1, 5))) for _ in range(50)]
    return [*((cut, frame) for frame in frames), *((receive, run) for run in runs)]


def batches(rng: random.Random) -> list[Target]:
    def look(data: bytes) -> None:
        for position, header in iter_batches(data):
            assert position + header.size <= len(data)
        validate_for_produce(memoryview(bytearray(data)), 0, len(data), max_message_bytes=4096)

    return [(look, bytes(random_batch(rng))) for _ in range(50)] + [(read_header, bytes(random_batch(rng)))]


def records(rng: random.Random) -> list[Target]:
    def look(data: bytes) -> None:
        assert all(type(record.offset) is int for record in iter_records(data))

    def opened(data: bytes, rules: Rules) -> None:
        header = read_header(data)
        if len(data) >= header.size >= HEADER_BYTES:  # validate_for_produce has seen to that
            run(prepare(memoryview(data), header, rules, 0))

    def known(data: bytes) -> None:
        header = read_header(data)
        if len(data) >= header.size >= HEADER_BYTES:
            run(prepare(memoryview(data), header, Rules(1 << 20), 0, schemas=_SCHEMAS))

    seeds = [bytes(random_batch(rng)) for _ in range(200)]
    registered = [_with_schema_ids(rng) for _ in range(50)]
    for batch in registered:
        known(batch)  # which has to be accepted before it is spoilt
    return (
        [(look, seed) for seed in seeds]
        + [(lambda data: opened(data, Rules(1 << 20, keys_required=True)), seed) for seed in seeds]
        + [(lambda data: opened(data, Rules(1 << 20, codec=Codec.NONE)), seed) for seed in seeds]
        + [(known, seed) for seed in registered + seeds]
    )


class _Registered:
    def identifiers(self, subject: str | None) -> set[bytes]:
        return {id_identifier(7)}


_SCHEMAS = SchemaRules(key=True, value=True).of_topic("orders", _Registered())


def _with_schema_ids(rng: random.Random) -> bytes:
    """In front of keys and values, or in a header."""
    prefix, headers = id_identifier(7), (("__value_schema_id", id_identifier(7)), ("__key_schema_id", id_identifier(7)))
    records = [
        Record(n, 1_700_000_000_000, prefix + b"k", prefix + rng.randbytes(90), ())
        if rng.random() < 0.7
        else Record(n, 1_700_000_000_000, b"k", rng.randbytes(200), headers)
        for n in range(5)
    ]
    return bytes(
        build_batch(records, codec=rng.choice(tuple(Codec)), producer_id=-1, producer_epoch=-1, base_sequence=-1)
    )


def compressed(rng: random.Random) -> list[Target]:
    found: list[Target] = []
    for number in Codec:
        for _ in range(40):
            plain = rng.choice((rng.randbytes(rng.randrange(900)), b"abcdefgh" * rng.randrange(900), b""))

            def unpack(data: bytes, number: Codec = number) -> None:
                assert len(decompress(number, data, MAX_OPENED_BYTES)) <= MAX_OPENED_BYTES

            found.append((unpack, compress(number, plain)))
    return found


@pytest.mark.parametrize(
    ("share", "targets"),
    [
        (50, requests),
        (10, produces),
        (8, singles),
        (5, headers),
        (5, frames),
        (8, batches),
        (14, records),
        (8, compressed),
    ],
    ids=["requests", "produce", "singles", "headers", "frames", "batches", "records", "compressed"],
)
def test_nothing_but_a_protocol_error(share: int, targets: Callable[[random.Random], list[Target]]) -> None:
    rng = random.Random(SEED)
    rounds = TOTAL * share // 100
    assert refused_of_spoilt(targets(rng), rounds, rng) > rounds // 50, "the inputs are too kind to show anything"


def test_no_length_makes_a_decoder_allocate_what_it_claims() -> None:
    """A Python object weighs more than its bytes on the wire, so the bound is a factor of the frame, and a little."""
    rng = random.Random(SEED)
    seeds = requests(rng) + produces(rng)
    for decode, good in seeds:
        try_one(decode, good)  # compiles what is compiled once
    worst = 0.0
    tracemalloc.start()
    try:
        for decode, good in rng.sample(seeds, min(len(seeds), 1500)):
            data = spoil(good, rng)
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            try_one(decode, data)
            worst = max(worst, (tracemalloc.get_traced_memory()[1] - before - 16_384) / max(len(data), 1))
    finally:
        tracemalloc.stop()
    assert worst < 32, f"{worst:.0f} bytes allocated for each byte received"
