"""Inputs for the decoders: well-formed bytes made from our own schema, and the ways to spoil them."""

import random
from typing import Any

from barnabas.wire import codec, schema
from barnabas.wire.apis import SERVED
from barnabas.wire.compression import Codec
from barnabas.wire.records import Record, build_batch

NASTY_BYTES = (0x00, 0x01, 0x7F, 0x80, 0xFE, 0xFF)
NASTY_RUNS = (
    bytes.fromhex("7fffffff"),
    bytes.fromhex("80000000"),
    bytes.fromhex("ffffffff"),
    bytes.fromhex("fffffffe"),
    bytes.fromhex("000f4240"),
    bytes.fromhex("7fff"),
    bytes.fromhex("8000"),
    bytes.fromhex("ffffffff07"),
    bytes.fromhex("ffffffff0f"),
    bytes.fromhex("808080808001"),
)


def random_body(fields: tuple[schema.Field, ...], rng: random.Random) -> dict[str, Any]:
    """A body for our writer with a bit of everything in it."""
    return {field.name: _value(field, rng) for field in fields if field.tag is None or rng.random() < 0.5}


def _value(field: schema.Field, rng: random.Random) -> Any:
    if field.nullable and rng.random() < 0.2:
        return None
    if field.array:
        return [_one(field, rng) for _ in range(rng.choice((0, 1, 1, 2, 3)))]
    return _one(field, rng)


def _one(field: schema.Field, rng: random.Random) -> Any:
    match field.type:
        case "struct":
            return random_body(field.fields, rng)
        case "string":
            return "".join(rng.choices("abcäß漢.-", k=rng.choice((0, 3, 9, 140))))
        case "bytes":
            return rng.randbytes(rng.choice((0, 3, 140)))
        case "records":
            return bytes(random_batch(rng))
        case "uuid":
            return rng.randbytes(16)
        case "bool":
            return rng.random() < 0.5
        case "float64":
            return rng.random()
        case "int8":
            return rng.randrange(-128, 128)
    return rng.randrange(0, 1 << 15)


def random_batch(rng: random.Random, codec_number: Codec | None = None) -> bytearray:
    records = [
        Record(
            index,
            1_700_000_000_000 + rng.randrange(-1000, 100_000),
            rng.choice((None, b"", rng.randbytes(5))),
            rng.choice((None, b"", rng.randbytes(rng.choice((5, 90, 400))))),
            rng.choice(((), (), (("name", b"value"), ("other", None)))),
        )
        for index in range(rng.choice((1, 1, 3, 20)))
    ]
    chosen = rng.choice(tuple(Codec)) if codec_number is None else codec_number
    return build_batch(records, codec=chosen, producer_id=rng.choice((-1, 7)), producer_epoch=0, base_sequence=0)


def request_seeds(rng: random.Random, each: int) -> list[tuple[int, int, bytes]]:
    """(API key, version, body) of well-formed requests for every served version."""
    seeds = []
    for api in SERVED.values():
        for version in range(api.min_version, api.max_version + 1):
            fields = schema.load(api.name).shape("request", version).fields
            for _ in range(each):
                seeds.append((api.key, version, codec.encode_request(api.key, version, random_body(fields, rng))))
    return seeds


def spoil(data: bytes, rng: random.Random) -> bytes:
    """The same bytes with one to three faults in them."""
    if not data:
        return rng.randbytes(rng.randrange(20))
    spoilt = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3))):
        place = rng.randrange(len(spoilt) + 1)
        match rng.randrange(7):
            case 0 if place < len(spoilt):
                spoilt[place] ^= 1 << rng.randrange(8)
            case 1 if place < len(spoilt):
                spoilt[place] = rng.choice(NASTY_BYTES)
            case 2:
                run = rng.choice(NASTY_RUNS)
                spoilt[place : place + len(run)] = run
            case 3:
                del spoilt[place:]
            case 4:
                spoilt[place:place] = rng.randbytes(rng.randrange(1, 9))
            case 5:
                del spoilt[place : place + rng.randrange(1, 5)]
            case _:
                spoilt[place:] = rng.randbytes(rng.randrange(40))
        if not spoilt:
            break
    return bytes(spoilt)
