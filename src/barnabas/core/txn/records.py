"""The records of `__transaction_state`, byte for byte Kafka's (TransactionLogKey 0, TransactionLogValue 0-1).

    key     int16 0, transactional id
    value   int16 version, producer id, epoch, timeout, state, partitions by topic (null if Empty), last update, start;
            version 1 is flexible and adds tags: 0 previous producer id, 1 next producer id, 2 client transaction
            version, 3 next producer epoch (KIP-939)

Version 0 is written at transaction.version 0 only. Kafka writes topics and partitions in the order of its hash tables;
ours stand in order. A record of a newer version, or with a state that is never written, is not ours to guess at:
`RecordError`.
"""

from barnabas.core.groups.records.primitives import Reader, RecordError, Writer, text
from barnabas.core.txn.states import TxnState
from barnabas.core.txn.transaction import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, Transaction
from barnabas.model.ids import TopicPartition

_KEY_VERSION = 0
_NEVER_WRITTEN = (TxnState.DEAD, TxnState.PREPARE_EPOCH_FENCE)


def encode_key(transactional_id: str) -> bytes:
    writer = Writer()
    writer.i16(_KEY_VERSION)
    writer.string(transactional_id)
    return writer.done()


def decode_key(key: bytes) -> str:
    reader = Reader(key)
    version = reader.i16()
    if version != _KEY_VERSION:
        raise RecordError(f"transaction key of unknown version {version}")
    return text(reader.string())


def value_version(transaction: Transaction, transaction_version: int) -> int:
    """An ending of KIP-890 has fields that version 0 cannot carry, whatever the cluster's level."""
    return 1 if max(transaction_version, transaction.client_transaction_version) >= 1 else 0


def encode_value(transaction: Transaction, version: int) -> bytes:
    writer = Writer()
    writer.i16(version)
    writer.i64(transaction.producer_id)
    writer.i16(transaction.producer_epoch)
    writer.i32(transaction.timeout_ms)
    writer.i8(transaction.state)
    _write_partitions(writer, transaction, flexible=version >= 1)
    writer.i64(transaction.last_update_ms)
    writer.i64(transaction.start_ms)
    if version >= 1:
        writer.tags(
            (0, _tag(transaction.previous_producer_id, NO_PRODUCER_ID, 8)),
            (1, _tag(transaction.next_producer_id, NO_PRODUCER_ID, 8)),
            (2, _tag(transaction.client_transaction_version, 0, 2)),
            (3, _tag(transaction.next_producer_epoch, NO_PRODUCER_EPOCH, 2)),
        )
    return writer.done()


def decode_value(transactional_id: str, value: bytes) -> Transaction:
    reader = Reader(value)
    version = reader.i16()
    if version not in (0, 1):
        raise RecordError(f"transaction value of unknown version {version}")
    producer_id, producer_epoch, timeout_ms = reader.i64(), reader.i16(), reader.i32()
    state = _state(reader.i8())
    partitions = _read_partitions(reader, flexible=version >= 1)
    last_update_ms, start_ms = reader.i64(), reader.i64()
    tags = reader.tags() if version >= 1 else {}
    return Transaction(
        transactional_id,
        producer_id,
        producer_epoch,
        timeout_ms,
        state,
        partitions,
        last_update_ms,
        start_ms,
        previous_producer_id=_untag(tags.get(0), NO_PRODUCER_ID),
        next_producer_id=_untag(tags.get(1), NO_PRODUCER_ID),
        next_producer_epoch=_untag(tags.get(3), NO_PRODUCER_EPOCH),
        client_transaction_version=_untag(tags.get(2), 0),
    )


def _state(number: int) -> TxnState:
    if number not in TxnState._value2member_map_ or number in _NEVER_WRITTEN:
        raise RecordError(f"transaction in unknown state {number}")
    return TxnState(number)


def _write_partitions(writer: Writer, transaction: Transaction, *, flexible: bool) -> None:
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(transaction.partitions):
        by_topic.setdefault(topic, []).append(partition)
    absent = transaction.state is TxnState.EMPTY
    if not flexible:
        writer.i32(-1 if absent else len(by_topic))
        for topic, numbers in by_topic.items():
            writer.string(topic)
            writer.i32(len(numbers))
            for number in numbers:
                writer.i32(number)
        return
    writer.uvarint(0 if absent else len(by_topic) + 1)
    for topic, numbers in by_topic.items():
        writer.compact_string(topic)
        writer.uvarint(len(numbers) + 1)
        for number in numbers:
            writer.i32(number)
        writer.tags()


def _read_partitions(reader: Reader, *, flexible: bool) -> frozenset[TopicPartition]:
    def topic() -> list[TopicPartition]:
        if not flexible:
            name = text(reader.string())
            return [TopicPartition(name, number) for number in reader.array(reader.i32)]
        name = text(reader.compact_string())
        numbers = reader.compact_array(reader.i32)
        reader.tags()
        return [TopicPartition(name, number) for number in numbers]

    topics = reader.compact_array(topic) if flexible else reader.array(topic)
    return frozenset(partition for partitions in topics for partition in partitions)


def _tag(value: int, default: int, size: int) -> bytes | None:
    return None if value == default else value.to_bytes(size, "big", signed=True)


def _untag(payload: bytes | None, default: int) -> int:
    return default if payload is None else int.from_bytes(payload, "big", signed=True)
