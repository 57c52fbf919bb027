"""Java's default partitioner: the hash of a key that every Kafka client agrees on, so that a key stays in one partition
whoever writes it."""

from functools import lru_cache
from struct import Struct

_MASK = 0xFFFFFFFF
_SEED = 0x9747B28C
_MULTIPLIER = 0x5BD1E995


@lru_cache(maxsize=256)
def _words(count: int) -> Struct:
    return Struct(f"<{count}I")


def murmur2(data: bytes) -> int:
    """The 32-bit hash as Java has it: signed."""
    length = len(data)
    mixed = _SEED ^ length
    whole = length & ~3
    for word in _words(whole >> 2).unpack_from(data):
        word = word * _MULTIPLIER & _MASK
        mixed = mixed * _MULTIPLIER & _MASK ^ (word ^ word >> 24) * _MULTIPLIER & _MASK
    if length > whole:
        mixed = (mixed ^ int.from_bytes(data[whole:], "little")) * _MULTIPLIER & _MASK
    mixed = (mixed ^ mixed >> 13) * _MULTIPLIER & _MASK
    mixed ^= mixed >> 15
    return mixed - (1 << 32) if mixed & 0x80000000 else mixed


def partition_for_key(key: bytes, partition_count: int) -> int:
    """Where Kafka's clients put this key."""
    return (murmur2(key) & 0x7FFFFFFF) % partition_count
