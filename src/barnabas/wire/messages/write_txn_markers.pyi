"""The types of wire/schema/write_txn_markers.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class WritableTxnMarkerTopic(Struct, kw_only=True):
    name: str = ...
    partition_indexes: list[int] = ...

class WritableTxnMarkerTopicBody(TypedDict, total=False):
    name: str
    partition_indexes: Sequence[int]

class WritableTxnMarker(Struct, kw_only=True):
    producer_id: int = ...
    producer_epoch: int = ...
    transaction_result: bool = ...
    topics: list[WritableTxnMarkerTopic] = ...
    coordinator_epoch: int = ...
    transaction_version: int = ...

class WritableTxnMarkerBody(TypedDict, total=False):
    producer_id: int
    producer_epoch: int
    transaction_result: bool
    topics: Sequence[WritableTxnMarkerTopicBody]
    coordinator_epoch: int
    transaction_version: int

class WriteTxnMarkersRequest(Request[WriteTxnMarkersResponseBody], kw_only=True):
    markers: list[WritableTxnMarker] = ...

class WriteTxnMarkersRequestBody(TypedDict, total=False):
    markers: Sequence[WritableTxnMarkerBody]

class WritableTxnMarkerPartitionResult(Struct, kw_only=True):
    partition_index: int = ...
    error_code: int = ...

class WritableTxnMarkerPartitionResultBody(TypedDict, total=False):
    partition_index: int
    error_code: int

class WritableTxnMarkerTopicResult(Struct, kw_only=True):
    name: str = ...
    partitions: list[WritableTxnMarkerPartitionResult] = ...

class WritableTxnMarkerTopicResultBody(TypedDict, total=False):
    name: str
    partitions: Sequence[WritableTxnMarkerPartitionResultBody]

class WritableTxnMarkerResult(Struct, kw_only=True):
    producer_id: int = ...
    topics: list[WritableTxnMarkerTopicResult] = ...

class WritableTxnMarkerResultBody(TypedDict, total=False):
    producer_id: int
    topics: Sequence[WritableTxnMarkerTopicResultBody]

class WriteTxnMarkersResponse(Struct, kw_only=True):
    markers: list[WritableTxnMarkerResult] = ...

class WriteTxnMarkersResponseBody(TypedDict, total=False):
    markers: Sequence[WritableTxnMarkerResultBody]
