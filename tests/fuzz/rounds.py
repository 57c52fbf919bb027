"""How spoilt inputs are tried. BARNABAS_FUZZ is their number in all (200,000 unless said otherwise; `make fuzz` uses
ten million), BARNABAS_SEED where they start. A failure prints the seed and the input, so it can be replayed."""

import os
import random
from collections.abc import Callable, Sequence
from typing import Any

from barnabas.model.errors import KafkaError
from barnabas.wire.codec import ProtocolError
from tests.fuzz.inputs import spoil

TOTAL = int(os.environ.get("BARNABAS_FUZZ", "200000"))
SEED = int(os.environ.get("BARNABAS_SEED", "1"))
REFUSALS: tuple[type[Exception], ...] = (ProtocolError, KafkaError)
Target = tuple[Callable[[bytes], Any], bytes]


def refused_of_spoilt(
    targets: Sequence[Target],
    rounds: int,
    rng: random.Random,
    refusals: tuple[type[Exception], ...] = REFUSALS,
) -> int:
    """Every input as it is, which need not be refused, then `rounds` spoilt ones; how many of these were refused."""
    for decode, good in targets:
        try_one(decode, good, refusals)
    refused = 0
    for number in range(rounds):
        decode, good = targets[number % len(targets)]
        refused += try_one(decode, spoil(good, rng), refusals)
    return refused


def try_one(decode: Callable[[bytes], Any], data: bytes, refusals: tuple[type[Exception], ...] = REFUSALS) -> bool:
    try:
        decode(data)
    except refusals:
        return True
    except Exception as problem:
        raise AssertionError(f"BARNABAS_SEED={SEED}: {type(problem).__name__}: {problem}; {data.hex()}") from problem
    return False
