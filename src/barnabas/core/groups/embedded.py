"""The `consumer` protocol that classic clients carry inside JoinGroup and SyncGroup (KIP-429, KIP-792, KIP-881).

To the coordinator these bytes are opaque, with two exceptions: which topics a group reads (expiry, OffsetDelete),
and the migration to and from KIP-848, where it must speak for its classic members. A newer version than we know is read
as the newest known one: later versions only append fields. Bytes that make no sense are "unknown", never an error: a
client may put there what it likes.
"""

from dataclasses import dataclass

from barnabas.core.groups.records.primitives import Reader, RecordError, Writer, text

CONSUMER_PROTOCOL_TYPE = "consumer"
_NEWEST = 3


@dataclass(frozen=True, slots=True)
class Subscription:
    topics: tuple[str, ...]
    owned: dict[str, frozenset[int]]
    generation: int = -1
    rack_id: str | None = None
    user_data: bytes | None = None


def read_subscription(data: bytes) -> Subscription | None:
    try:
        reader = Reader(data)
        version = reader.i16()
        if version < 0:
            return None
        topics = tuple(reader.array(lambda: text(reader.string())))
        user_data = reader.bytes32()
        owned = _read_topics(reader) if version >= 1 else {}
        generation = reader.i32() if version >= 2 else -1
        rack_id = reader.string() if version >= 3 else None
    except RecordError:
        return None
    return Subscription(topics, owned, generation, rack_id, user_data)


def read_assignment(data: bytes) -> dict[str, frozenset[int]] | None:
    if not data:
        return {}
    try:
        reader = Reader(data)
        if reader.i16() < 0:
            return None
        return _read_topics(reader)
    except RecordError:
        return None


def assignment_user_data(data: bytes) -> bytes:
    """What a client-side assignor put beside the partitions: nothing, for all that come with Kafka's clients."""
    if not data:
        return b""
    try:
        reader = Reader(data)
        reader.i16()
        _read_topics(reader)
        return reader.bytes32() or b""
    except RecordError:
        return b""


def embedded_version(data: bytes) -> int:
    """The version of the embedded protocol these bytes were written in, as far as we can write it too."""
    return max(0, min(_NEWEST, int.from_bytes(data[:2], "big", signed=True))) if len(data) >= 2 else 0


def write_assignment(topics: dict[str, frozenset[int]], version: int = _NEWEST) -> bytes:
    writer = Writer()
    writer.i16(version)
    _write_topics(writer, topics)
    writer.i32(-1)  # no user data
    return writer.done()


def _read_topics(reader: Reader) -> dict[str, frozenset[int]]:
    def topic() -> tuple[str, frozenset[int]]:
        return text(reader.string()), frozenset(reader.array(reader.i32))

    return dict(reader.array(topic))


def _write_topics(writer: Writer, topics: dict[str, frozenset[int]]) -> None:
    writer.i32(len(topics))
    for name, numbers in sorted(topics.items()):
        writer.string(name)
        writer.i32(len(numbers))
        for number in sorted(numbers):
            writer.i32(number)
