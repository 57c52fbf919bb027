"""The types of wire/schema/consumer_protocol_assignment.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

class ConsumerProtocolAssignmentTopicPartition(Struct, kw_only=True):
    topic: str = ...
    partitions: list[int] = ...

class ConsumerProtocolAssignmentTopicPartitionBody(TypedDict, total=False):
    topic: str
    partitions: Sequence[int]

class ConsumerProtocolAssignment(Struct, kw_only=True):
    assigned_partitions: list[ConsumerProtocolAssignmentTopicPartition] = ...
    user_data: bytes | None = ...

class ConsumerProtocolAssignmentBody(TypedDict, total=False):
    assigned_partitions: Sequence[ConsumerProtocolAssignmentTopicPartitionBody]
    user_data: bytes | memoryview | None
