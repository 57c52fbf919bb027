"""The types of wire/schema/alter_replica_log_dirs.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class AlterReplicaLogDirTopic(Struct, kw_only=True):
    name: str = ...
    partitions: list[int] = ...

class AlterReplicaLogDirTopicBody(TypedDict, total=False):
    name: str
    partitions: Sequence[int]

class AlterReplicaLogDir(Struct, kw_only=True):
    path: str = ...
    topics: list[AlterReplicaLogDirTopic] = ...

class AlterReplicaLogDirBody(TypedDict, total=False):
    path: str
    topics: Sequence[AlterReplicaLogDirTopicBody]

class AlterReplicaLogDirsRequest(Request[AlterReplicaLogDirsResponseBody], kw_only=True):
    dirs: list[AlterReplicaLogDir] = ...

class AlterReplicaLogDirsRequestBody(TypedDict, total=False):
    dirs: Sequence[AlterReplicaLogDirBody]

class AlterReplicaLogDirPartitionResult(Struct, kw_only=True):
    partition_index: int = ...
    error_code: int = ...

class AlterReplicaLogDirPartitionResultBody(TypedDict, total=False):
    partition_index: int
    error_code: int

class AlterReplicaLogDirTopicResult(Struct, kw_only=True):
    topic_name: str = ...
    partitions: list[AlterReplicaLogDirPartitionResult] = ...

class AlterReplicaLogDirTopicResultBody(TypedDict, total=False):
    topic_name: str
    partitions: Sequence[AlterReplicaLogDirPartitionResultBody]

class AlterReplicaLogDirsResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    results: list[AlterReplicaLogDirTopicResult] = ...

class AlterReplicaLogDirsResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    results: Sequence[AlterReplicaLogDirTopicResultBody]
