"""Java's default partitioner: the hash of a key that every Kafka client agrees on, so that a key stays in one partition
whoever writes it."""

_MASK = 0xFFFFFFFF
_SEED = 0x9747B28C
_MULTIPLIER = 0x5BD1E995


def murmur2(data: bytes) -> int:
    """The 32-bit hash as Java has it: signed."""
    length = len(data)
    mixed = (_SEED ^ length) & _MASK
    whole = length & ~3
    for position in range(0, whole, 4):
        word = int.from_bytes(data[position : position + 4], "little") * _MULTIPLIER & _MASK
        word = (word ^ word >> 24) * _MULTIPLIER & _MASK
        mixed = mixed * _MULTIPLIER & _MASK ^ word
    if length > whole:
        mixed = (mixed ^ int.from_bytes(data[whole:], "little")) * _MULTIPLIER & _MASK
    mixed = (mixed ^ mixed >> 13) * _MULTIPLIER & _MASK
    mixed ^= mixed >> 15
    return mixed - (1 << 32) if mixed & 0x80000000 else mixed


def partition_for_key(key: bytes, partition_count: int) -> int:
    """Where Kafka's clients put this key."""
    return (murmur2(key) & 0x7FFFFFFF) % partition_count
