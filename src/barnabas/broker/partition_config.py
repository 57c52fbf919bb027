"""What a topic's settings mean for one batch on its way in.

An ordinary topic (CreateTime, `compression.type=producer`, not compacted) takes a batch as it is: one comparison of
its newest timestamp and no look inside. Everything else goes through `prepare`, which may rewrite the batch.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from barnabas.model.errors import ErrorCode, RefusedBatch
from barnabas.storage.config import LogConfig
from barnabas.wire import batch as batches
from barnabas.wire.batch import BatchHeader
from barnabas.wire.compression import Codec
from barnabas.wire.deep import deep_check, recompress
from barnabas.wire.errors import ProtocolError
from barnabas.wire.records import iter_records

_NO_LIMIT_MS = (1 << 63) - 1
_REJECTED = "One or more records have been rejected"


class InvalidRecords(RefusedBatch):
    """Some records of a batch are refused, and with them the batch."""

    def __init__(self, code: ErrorCode, message: str, record_errors: list[tuple[int, str]]) -> None:
        super().__init__(code, message)
        self.record_errors = record_errors


@dataclass(frozen=True, slots=True)
class PartitionConfig:
    log: LogConfig
    max_message_bytes: int
    flush_messages: int
    log_append_time: bool
    timestamp_before_max_ms: int
    timestamp_after_max_ms: int
    codec: Codec | None  # None keeps what the producer chose
    codec_level: int | None
    keys_required: bool
    min_insync_replicas: int
    flushes: bool = field(init=False)  # does anybody want to count records between fsyncs?
    flush_every_write: bool = field(init=False)
    needs_look_inside: bool = field(init=False)

    def __post_init__(self) -> None:
        special = self.log_append_time or self.keys_required or self.codec is not None
        object.__setattr__(self, "needs_look_inside", special or self.timestamp_before_max_ms < _NO_LIMIT_MS)
        object.__setattr__(self, "flushes", self.flush_messages < _NO_LIMIT_MS)
        object.__setattr__(self, "flush_every_write", self.flush_messages <= 1)

    def prepare(
        self, view: memoryview, start: int, end: int, header: BatchHeader, now_ms: int
    ) -> tuple[memoryview, int, int, BatchHeader]:
        """Check the records inside and rewrite the batch where the topic asks for it."""
        if self.keys_required:
            self._require_keys(view[start:end])
        if not self.log_append_time and (
            header.max_timestamp - now_ms > self.timestamp_after_max_ms or self.timestamp_before_max_ms < _NO_LIMIT_MS
        ):
            self.check_timestamps(view[start:end], now_ms)
        if self.codec is not None and header.codec is not self.codec:
            data = recompress(view[start:end], self.codec, self.codec_level)
            view, start, end = memoryview(data), 0, len(data)
        if self.log_append_time:
            batches.stamp_log_append_time(view, start, now_ms)
        return view, start, end, batches.read_header(view, start)

    def _require_keys(self, batch: memoryview) -> None:
        found = deep_check(batch, require_keys=True)
        if found.without_key:
            reason = "Compacted topic cannot accept message without key in topic partition."
            raise InvalidRecords(ErrorCode.INVALID_RECORD, _REJECTED, [(index, reason) for index in found.without_key])

    def check_timestamps(self, batch: memoryview, now_ms: int) -> None:
        """Refuse the batch and name every record that is too old or too far ahead."""
        earliest, latest = now_ms - self.timestamp_before_max_ms, now_ms + self.timestamp_after_max_ms
        try:
            wrong = [
                (index, f"Timestamp {record.timestamp} is not between {earliest} and {latest}")
                for index, record in enumerate(iter_records(batch))
                if record.timestamp != -1 and not earliest <= record.timestamp <= latest
            ]
        except ProtocolError as error:
            raise RefusedBatch(ErrorCode.INVALID_RECORD, str(error)) from None
        if wrong:
            raise InvalidRecords(ErrorCode.INVALID_TIMESTAMP, _REJECTED, wrong)


def partition_config(get: Callable[[str], Any]) -> PartitionConfig:
    """From a topic's effective settings by Kafka's names."""
    compression = get("compression.type")
    codec = None
    level = None
    if compression != "producer":
        codec = Codec.NONE if compression in ("none", "uncompressed") else Codec[compression.upper()]
        if codec in (Codec.GZIP, Codec.LZ4, Codec.ZSTD):
            level = get(f"compression.{compression}.level")
    policies = frozenset(get("cleanup.policy"))
    log = LogConfig(
        segment_bytes=get("internal.segment.bytes") or get("segment.bytes"),
        segment_ms=get("segment.ms"),
        segment_index_bytes=get("segment.index.bytes"),
        index_interval_bytes=get("index.interval.bytes"),
        retention_ms=get("retention.ms"),
        retention_bytes=get("retention.bytes"),
        flush_messages=get("flush.messages"),
        flush_ms=get("flush.ms"),
        cleanup_policy=policies,
        delete_retention_ms=get("delete.retention.ms"),
        min_cleanable_dirty_ratio=get("min.cleanable.dirty.ratio"),
        min_compaction_lag_ms=get("min.compaction.lag.ms"),
        max_compaction_lag_ms=get("max.compaction.lag.ms"),
        file_delete_delay_ms=get("file.delete.delay.ms"),
        max_message_bytes=get("max.message.bytes"),
    )
    return PartitionConfig(
        log=log,
        max_message_bytes=log.max_message_bytes,
        flush_messages=log.flush_messages,
        log_append_time=get("message.timestamp.type") == "LogAppendTime",
        timestamp_before_max_ms=get("message.timestamp.before.max.ms"),
        timestamp_after_max_ms=get("message.timestamp.after.max.ms"),
        codec=codec,
        codec_level=level,
        keys_required="compact" in policies,
        min_insync_replicas=get("min.insync.replicas"),
    )
