"""The types of wire/schema/consumer_protocol_subscription.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

class ConsumerProtocolSubscriptionTopicPartition(Struct, kw_only=True):
    topic: str = ...
    partitions: list[int] = ...

class ConsumerProtocolSubscriptionTopicPartitionBody(TypedDict, total=False):
    topic: str
    partitions: Sequence[int]

class ConsumerProtocolSubscription(Struct, kw_only=True):
    topics: list[str] = ...
    user_data: bytes | None = ...
    owned_partitions: list[ConsumerProtocolSubscriptionTopicPartition] = ...
    generation_id: int = ...
    rack_id: str | None = ...

class ConsumerProtocolSubscriptionBody(TypedDict, total=False):
    topics: Sequence[str]
    user_data: bytes | memoryview | None
    owned_partitions: Sequence[ConsumerProtocolSubscriptionTopicPartitionBody]
    generation_id: int
    rack_id: str | None
