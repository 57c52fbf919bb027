"""The checksum of a key-value state: one number for all of it that can be kept up to date change by change.

Each pair of key and value has a number, the first 120 bits of a SHA-256; the state's checksum is their sum. So it does
not depend on any order, a change costs one addition and one subtraction, and every shard can have its own. It finds
what is lost, doubled or damaged; it is no seal against somebody who forges a log.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

DIGITS = 15  # in hex: 60 bits, so that Spark can add a million million of them exactly
MODULUS = 16**DIGITS


@dataclass(frozen=True, slots=True)
class Checksum:
    """How many keys, and the two halves of the sum."""

    keys: int = 0
    high: int = 0
    low: int = 0

    def put(self, key: bytes, value: bytes) -> Checksum:
        high, low = halves(key, value)
        return Checksum(self.keys + 1, (self.high + high) % MODULUS, (self.low + low) % MODULUS)

    def dropped(self, key: bytes, value: bytes) -> Checksum:
        high, low = halves(key, value)
        return Checksum(self.keys - 1, (self.high - high) % MODULUS, (self.low - low) % MODULUS)

    def with_all(self, other: Checksum) -> Checksum:
        high, low = (self.high + other.high) % MODULUS, (self.low + other.low) % MODULUS
        return Checksum(self.keys + other.keys, high, low)

    @property
    def text(self) -> str:
        return f"{self.high:015x}{self.low:015x}"

    @classmethod
    def of(cls, keys: int, text: str) -> Checksum:
        return cls(keys, int(text[:DIGITS], 16), int(text[DIGITS:], 16))


def halves(key: bytes, value: bytes) -> tuple[int, int]:
    """The length of the key goes first, so that no two pairs are the same bytes."""
    digest = sha256(b"%d:%b%b" % (len(key), key, value)).hexdigest()
    return int(digest[:DIGITS], 16), int(digest[DIGITS : 2 * DIGITS], 16)
