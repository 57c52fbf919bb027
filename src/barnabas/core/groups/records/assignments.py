"""Partition lists inside consumer group records: the target of a member (kind 7) and its current place (kind 8).

The current assignment also remembers, per partition, the epoch at which the member got it (KIP-1251): a commit that
left the member before its epoch moved on is still good for a partition it has held all the while.
"""

from dataclasses import dataclass

from barnabas.core.groups.records.consumer_group import PartitionEpochs, Partitions, open_value
from barnabas.core.groups.records.primitives import Reader, Writer


def encode_target(partitions: Partitions) -> bytes:
    writer = Writer()
    writer.i16(0)
    writer.uvarint(len(partitions) + 1)
    for topic_id, numbers in sorted(partitions.items()):
        writer.raw(topic_id)
        _numbers(writer, sorted(numbers))
        writer.tags()
    writer.tags()
    return writer.done()


def decode_target(data: bytes) -> dict[bytes, frozenset[int]]:
    reader = open_value(data)

    def topic() -> tuple[bytes, frozenset[int]]:
        pair = (reader.uuid(), frozenset(reader.compact_array(reader.i32)))
        reader.tags()
        return pair

    return dict(reader.compact_array(topic))


@dataclass(frozen=True, slots=True)
class CurrentAssignmentValue:
    member_epoch: int
    previous_epoch: int
    state: int
    assigned: PartitionEpochs
    pending_revocation: PartitionEpochs

    def encode(self) -> bytes:
        writer = Writer()
        writer.i16(0)
        writer.i32(self.member_epoch)
        writer.i32(self.previous_epoch)
        writer.i8(self.state)
        _write_epochs(writer, self.assigned)
        _write_epochs(writer, self.pending_revocation)
        writer.tags()
        return writer.done()


def decode_current(data: bytes) -> CurrentAssignmentValue:
    reader = open_value(data)
    epoch, previous, state = reader.i32(), reader.i32(), reader.i8()
    assigned = _read_epochs(reader, epoch)
    return CurrentAssignmentValue(epoch, previous, state, assigned, _read_epochs(reader, epoch))


def _numbers(writer: Writer, numbers: list[int]) -> None:
    writer.uvarint(len(numbers) + 1)
    for number in numbers:
        writer.i32(number)


def _write_epochs(writer: Writer, assignment: PartitionEpochs) -> None:
    writer.uvarint(len(assignment) + 1)
    for topic_id, epochs in sorted(assignment.items()):
        writer.raw(topic_id)
        ordered = sorted(epochs)
        _numbers(writer, ordered)
        tag = Writer()
        _numbers(tag, [epochs[number] for number in ordered])
        writer.tags((0, tag.done()))


def _read_epochs(reader: Reader, member_epoch: int) -> dict[bytes, dict[int, int]]:
    def topic() -> tuple[bytes, dict[int, int]]:
        topic_id = reader.uuid()
        numbers = reader.compact_array(reader.i32)
        tag = reader.tags().get(0)
        epochs: list[int] = []
        if tag:
            inner = Reader(tag)
            epochs = inner.compact_array(inner.i32)
        if len(epochs) != len(numbers):
            # Written before KIP-1251: take the member's own epoch, the strictest reading of what it may commit.
            epochs = [member_epoch] * len(numbers)
        return topic_id, dict(zip(numbers, epochs, strict=True))

    return dict(reader.compact_array(topic))
