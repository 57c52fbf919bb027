"""The list of scenarios: each belongs to one API and runs once for every version of it that is served."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tests.differential.engine import Pair
from tests.support import kio_codec

# What a node of this issue serves: every version Apache Kafka 4.3 has of these APIs.
SERVED: dict[int, range] = {
    0: range(3, 14),
    1: range(4, 19),
    2: range(1, 12),
    3: range(14),
    8: range(2, 11),
    9: range(1, 11),
    10: range(7),
    11: range(10),
    12: range(5),
    13: range(6),
    14: range(6),
    15: range(7),
    16: range(6),
    18: range(5),
    19: range(2, 8),
    20: range(1, 7),
    21: range(3),
    22: range(6),
    23: range(2, 5),
    24: range(6),
    25: range(5),
    26: range(6),
    27: range(1, 3),
    28: range(6),
    29: range(1, 4),
    30: range(1, 4),
    31: range(1, 4),
    32: range(1, 5),
    33: range(3),
    34: range(1, 3),
    35: range(1, 6),
    37: range(4),
    38: range(1, 4),
    39: range(1, 3),
    40: range(1, 3),
    41: range(1, 4),
    42: range(3),
    43: range(3),
    44: range(2),
    45: range(2),
    46: range(1),
    47: range(1),
    48: range(2),
    49: range(2),
    50: range(1),
    55: range(3),
    57: range(3),
    60: range(3),
    61: range(1),
    64: range(1),
    65: range(1),
    66: range(3),
    68: range(2),
    69: range(2),
    71: range(1),
    72: range(1),
    74: range(2),
    75: range(1),
}


@dataclass(frozen=True)
class Scenario:
    name: str
    api_key: int
    version: int
    run: Callable[[Pair, int], None]

    @property
    def id(self) -> str:
        return f"{kio_codec.name(self.api_key)}-v{self.version}-{self.name}"


SCENARIOS: list[Scenario] = []


def scenario(
    api_key: int, versions: Iterable[int] | None = None
) -> Callable[[Callable[[Pair, int], None]], Callable[[Pair, int], None]]:
    """Register a scenario for every version served, or for those given."""

    def register(run: Callable[[Pair, int], None]) -> Callable[[Pair, int], None]:
        for version in versions if versions is not None else SERVED[api_key]:
            SCENARIOS.append(Scenario(run.__name__, api_key, version, run))
        return run

    return register
