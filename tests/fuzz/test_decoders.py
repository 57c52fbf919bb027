"""Spoilt bytes into every decoder: nothing comes out but a message or a protocol error.

BARNABAS_FUZZ is the number of inputs in all (200,000 unless said otherwise; `make fuzz` uses ten million),
BARNABAS_SEED where they start. A failure prints the seed and the input, so it can be replayed.
"""

import os
import random
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from barnabas.model.errors import KafkaError
from barnabas.wire import codec
from barnabas.wire.apis import PRODUCE
from barnabas.wire.batch import HEADER_BYTES, iter_batches, read_header
from barnabas.wire.codec import ProtocolError
from barnabas.wire.compression import Codec, compress, decompress
from barnabas.wire.frames import frame_end
from barnabas.wire.headers import read_request_header, request_header
from barnabas.wire.produce.request import parse_produce
from barnabas.wire.record_validation import Rules, prepare, run
from barnabas.wire.records import iter_records
from barnabas.wire.validate import validate_for_produce
from tests.fuzz.connections import received
from tests.fuzz.inputs import random_batch, request_seeds, spoil

TOTAL = int(os.environ.get("BARNABAS_FUZZ", "200000"))
SEED = int(os.environ.get("BARNABAS_SEED", "1"))
MAX_OPENED_BYTES = 1 << 20
Target = tuple[Callable[[bytes], Any], bytes]


def requests(rng: random.Random) -> list[Target]:
    return [(partial(codec.decode_request, key, version), body) for key, version, body in request_seeds(rng, each=8)]


def produces(rng: random.Random) -> list[Target]:
    return [(partial(_produce, version), body) for key, version, body in request_seeds(rng, each=8) if key == PRODUCE]


def _produce(version: int, data: bytes) -> Any:
    return parse_produce(memoryview(data), 0, version)


def headers(rng: random.Random) -> list[Target]:
    found: list[Target] = []
    for key, version, _ in request_seeds(rng, each=1):
        found.append(
            (read_request_header, request_header(key, version, rng.randrange(1 << 31), "client-ä") + b"\x00" * 9)
        )
    return found


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

    seeds = [bytes(random_batch(rng)) for _ in range(200)]
    return (
        [(look, seed) for seed in seeds]
        + [(lambda data: opened(data, Rules(1 << 20, keys_required=True)), seed) for seed in seeds]
        + [(lambda data: opened(data, Rules(1 << 20, codec=Codec.NONE)), seed) for seed in seeds]
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
        (14, produces),
        (5, headers),
        (5, frames),
        (8, batches),
        (10, records),
        (8, compressed),
    ],
    ids=["requests", "produce", "headers", "frames", "batches", "records", "compressed"],
)
def test_nothing_but_a_protocol_error(share: int, targets: Callable[[random.Random], list[Any]]) -> None:
    rng = random.Random(SEED)
    seeds = targets(rng)
    for decode, good in seeds:
        try_one(decode, good)  # the seed itself, which need not be refused
    refused = 0
    rounds = TOTAL * share // 100
    for number in range(rounds):
        decode, good = seeds[number % len(seeds)]
        data = spoil(good, rng)
        refused += try_one(decode, data)
    assert refused > rounds // 50, "the inputs are too kind to show anything"


def try_one(decode: Callable[[bytes], Any], data: bytes) -> bool:
    try:
        decode(data)
    except (ProtocolError, KafkaError):
        return True
    except Exception as problem:
        raise AssertionError(f"BARNABAS_SEED={SEED}: {type(problem).__name__}: {problem}; {data.hex()}") from problem
    return False


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
