"""What a topic's settings mean for a produced batch.

An ordinary topic (CreateTime, `compression.type=producer`, not compacted) takes a batch as it is: the timestamps of its
header are compared with the clock and with each other, and no record is decoded. Everything else goes through
`prepared` (wire/record_validation.py), which may give another batch. Small ones are done at once; what may take longer
raises TakesLong, and broker/partition/batch_preparation.py does it beside other work.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.settings import Settings
from barnabas.model.settings.topic import TOPIC_NAME_STRATEGY
from barnabas.storage.config import LogConfig
from barnabas.wire.batch import BatchHeader
from barnabas.wire.compression import Codec
from barnabas.wire.record_validation import OpensToMore, Rules, Stored, prepare, run
from barnabas.wire.schema_ids import SchemaCheck, SchemaRules, UnregisteredSchemas

_NO_LIMIT_MS = (1 << 63) - 1
_TRUSTED_AHEAD_MAX_MS = 3_600_000  # the default of message.timestamp.after.max.ms; a segment is kept this much longer
_OPENED_AT_ONCE_MAX_BYTES = 256 * 1024  # decompressed at once: a millisecond with gzip
_RECODED_AT_ONCE_MAX_BYTES = 16 * 1024  # compressed at once: a few milliseconds at the highest level of zstd


class TakesLong(Exception):
    """The records of this batch have to be validated, and there may be many of them."""

    def __init__(self, header: BatchHeader) -> None:
        super().__init__()
        self.header = header


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
    min_insync_zones: int = 1
    schemas: SchemaRules | None = None  # None: records may have any schema, or none
    link: str = ""  # the link that fills the topic from another cluster: clients may only read it
    link_epoch: int = 0  # of a topic that a link made: records of the source have lower leader epochs
    flushes: bool = field(init=False)  # does anybody want to count records between fsyncs?
    flush_every_write: bool = field(init=False)
    is_special: bool = field(init=False)  # its batches are not all stored as they come
    trusted_ahead_ms: int = field(init=False)  # a header whose newest timestamp is later than that is not believed
    rules: Rules = field(init=False)

    def __post_init__(self) -> None:
        special = self.log_append_time or self.keys_required or self.codec is not None or self.schemas is not None
        special = special or bool(self.link)  # refused in `prepared`: the usual way of a batch pays nothing for it
        object.__setattr__(self, "is_special", special or self.timestamp_before_max_ms < _NO_LIMIT_MS)
        object.__setattr__(self, "trusted_ahead_ms", min(self.timestamp_after_max_ms, _TRUSTED_AHEAD_MAX_MS))
        object.__setattr__(self, "rules", self._make_rules())
        object.__setattr__(self, "flushes", self.flush_messages < _NO_LIMIT_MS)
        object.__setattr__(self, "flush_every_write", self.flush_messages <= 1)

    def _make_rules(self) -> Rules:
        return Rules(
            max_message_bytes=self.max_message_bytes,
            keys_required=self.keys_required,
            timestamp_before_max_ms=self.timestamp_before_max_ms,
            timestamp_after_max_ms=self.timestamp_after_max_ms,
            log_append_time=self.log_append_time,
            codec=self.codec,
            codec_level=self.codec_level,
        )

    def prepared(
        self,
        batch: memoryview,
        header: BatchHeader,
        now_ms: int,
        records_max: int,
        schemas: SchemaCheck | None = None,
    ) -> Stored:
        """The batch as it is to be stored; up to `records_max` records are validated at once, more raise TakesLong.
        So does a schema that is not known here: the registry has to be asked."""
        if self.link:
            raise KafkaError(
                ErrorCode.POLICY_VIOLATION,
                f"the topic is filled by the link {self.link!r} and can only be read until it is promoted",
            )
        if self._stores_unchanged(header, now_ms):
            return Stored(header, None)
        recodes = self.codec not in (None, header.codec)
        at_once_max = _RECODED_AT_ONCE_MAX_BYTES if recodes else _OPENED_AT_ONCE_MAX_BYTES
        validates = self.keys_required or not self.log_append_time or schemas is not None
        if validates and header.record_count > records_max:
            raise TakesLong(header)
        if len(batch) > at_once_max and (recodes or (validates and header.codec is not Codec.NONE)):
            raise TakesLong(header)
        try:
            return run(prepare(batch, header, self.rules, now_ms, at_once_max, schemas))
        except (OpensToMore, UnregisteredSchemas):
            raise TakesLong(header) from None

    def _stores_unchanged(self, header: BatchHeader, now_ms: int) -> bool:
        return (
            not (self.log_append_time or self.keys_required or self.timestamp_before_max_ms < _NO_LIMIT_MS)
            and self.schemas is None
            and self.codec in (None, header.codec)
            and header.base_timestamp <= header.max_timestamp <= now_ms + self.trusted_ahead_ms
        )


def partition_config(get: Callable[[str], Any]) -> PartitionConfig:  # what a setting is, its definition says
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
        min_insync_zones=get("min.insync.zones"),
        schemas=_schema_rules(get),
        link=get("link.name"),
        link_epoch=get("link.leader.epoch"),
    )


def _schema_rules(get: Callable[[str], Any]) -> SchemaRules | None:  # the same
    key, value = (get(f"confluent.{part}.schema.validation") for part in ("key", "value"))
    if not (key or value):
        return None
    by_topic = (get(f"confluent.{part}.subject.name.strategy") == TOPIC_NAME_STRATEGY for part in ("key", "value"))
    return SchemaRules(key, value, *by_topic)


class SharedConfigs:
    """One object for all topics with the same overrides: to make one takes 40 us, and a changed setting of the cluster
    is about every topic."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._known: dict[frozenset[tuple[str, str]], PartitionConfig] = {}

    def of(self, overrides: Mapping[str, str]) -> PartitionConfig:
        key = frozenset(overrides.items())
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = partition_config(self._settings.topic(overrides).__getitem__)
        return known
