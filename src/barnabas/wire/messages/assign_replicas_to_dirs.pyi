"""The types of wire/schema/assign_replicas_to_dirs.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class AssignReplicasToDirsRequestPartitionData(Struct, kw_only=True):
    partition_index: int = ...

class AssignReplicasToDirsRequestPartitionDataBody(TypedDict, total=False):
    partition_index: int

class AssignReplicasToDirsRequestTopicData(Struct, kw_only=True):
    topic_id: bytes = ...
    partitions: list[AssignReplicasToDirsRequestPartitionData] = ...

class AssignReplicasToDirsRequestTopicDataBody(TypedDict, total=False):
    topic_id: bytes
    partitions: Sequence[AssignReplicasToDirsRequestPartitionDataBody]

class AssignReplicasToDirsRequestDirectoryData(Struct, kw_only=True):
    id: bytes = ...
    topics: list[AssignReplicasToDirsRequestTopicData] = ...

class AssignReplicasToDirsRequestDirectoryDataBody(TypedDict, total=False):
    id: bytes
    topics: Sequence[AssignReplicasToDirsRequestTopicDataBody]

class AssignReplicasToDirsRequest(Request[AssignReplicasToDirsResponseBody], kw_only=True):
    broker_id: int = ...
    broker_epoch: int = ...
    directories: list[AssignReplicasToDirsRequestDirectoryData] = ...

class AssignReplicasToDirsRequestBody(TypedDict, total=False):
    broker_id: int
    broker_epoch: int
    directories: Sequence[AssignReplicasToDirsRequestDirectoryDataBody]

class AssignReplicasToDirsResponsePartitionData(Struct, kw_only=True):
    partition_index: int = ...
    error_code: int = ...

class AssignReplicasToDirsResponsePartitionDataBody(TypedDict, total=False):
    partition_index: int
    error_code: int

class AssignReplicasToDirsResponseTopicData(Struct, kw_only=True):
    topic_id: bytes = ...
    partitions: list[AssignReplicasToDirsResponsePartitionData] = ...

class AssignReplicasToDirsResponseTopicDataBody(TypedDict, total=False):
    topic_id: bytes
    partitions: Sequence[AssignReplicasToDirsResponsePartitionDataBody]

class AssignReplicasToDirsResponseDirectoryData(Struct, kw_only=True):
    id: bytes = ...
    topics: list[AssignReplicasToDirsResponseTopicData] = ...

class AssignReplicasToDirsResponseDirectoryDataBody(TypedDict, total=False):
    id: bytes
    topics: Sequence[AssignReplicasToDirsResponseTopicDataBody]

class AssignReplicasToDirsResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    error_code: int = ...
    directories: list[AssignReplicasToDirsResponseDirectoryData] = ...

class AssignReplicasToDirsResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    error_code: int
    directories: Sequence[AssignReplicasToDirsResponseDirectoryDataBody]
