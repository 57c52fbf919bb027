"""The types of wire/schema/alter_partition.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class BrokerState(Struct, kw_only=True):
    broker_id: int = ...
    broker_epoch: int = ...

class BrokerStateBody(TypedDict, total=False):
    broker_id: int
    broker_epoch: int

class AlterPartitionRequestPartitionData(Struct, kw_only=True):
    partition_index: int = ...
    leader_epoch: int = ...
    new_isr: list[int] = ...
    leader_recovery_state: int = ...
    partition_epoch: int = ...
    new_isr_with_epochs: list[BrokerState] = ...

class AlterPartitionRequestPartitionDataBody(TypedDict, total=False):
    partition_index: int
    leader_epoch: int
    new_isr: Sequence[int]
    leader_recovery_state: int
    partition_epoch: int
    new_isr_with_epochs: Sequence[BrokerStateBody]

class AlterPartitionRequestTopicData(Struct, kw_only=True):
    topic_id: bytes = ...
    partitions: list[AlterPartitionRequestPartitionData] = ...

class AlterPartitionRequestTopicDataBody(TypedDict, total=False):
    topic_id: bytes
    partitions: Sequence[AlterPartitionRequestPartitionDataBody]

class AlterPartitionRequest(Request[AlterPartitionResponseBody], kw_only=True):
    broker_id: int = ...
    broker_epoch: int = ...
    topics: list[AlterPartitionRequestTopicData] = ...

class AlterPartitionRequestBody(TypedDict, total=False):
    broker_id: int
    broker_epoch: int
    topics: Sequence[AlterPartitionRequestTopicDataBody]

class AlterPartitionResponsePartitionData(Struct, kw_only=True):
    partition_index: int = ...
    error_code: int = ...
    leader_id: int = ...
    leader_epoch: int = ...
    isr: list[int] = ...
    leader_recovery_state: int = ...
    partition_epoch: int = ...

class AlterPartitionResponsePartitionDataBody(TypedDict, total=False):
    partition_index: int
    error_code: int
    leader_id: int
    leader_epoch: int
    isr: Sequence[int]
    leader_recovery_state: int
    partition_epoch: int

class AlterPartitionResponseTopicData(Struct, kw_only=True):
    topic_id: bytes = ...
    partitions: list[AlterPartitionResponsePartitionData] = ...

class AlterPartitionResponseTopicDataBody(TypedDict, total=False):
    topic_id: bytes
    partitions: Sequence[AlterPartitionResponsePartitionDataBody]

class AlterPartitionResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    error_code: int = ...
    topics: list[AlterPartitionResponseTopicData] = ...

class AlterPartitionResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    error_code: int
    topics: Sequence[AlterPartitionResponseTopicDataBody]
