"""The settings of one topic that its logs obey, under Kafka's names with dots turned to underscores.

Storage does not parse settings: the broker builds one `LogConfig` for each topic and may put another one into a live
log (`log.config = ...`), which takes effect with the next append, retention run or cleaning.
"""

from msgspec import Struct

DAY_MS = 24 * 60 * 60 * 1000


class LogConfig(Struct, frozen=True):
    segment_bytes: int = 1024 * 1024 * 1024
    segment_ms: int = 7 * DAY_MS
    segment_index_bytes: int = 10 * 1024 * 1024
    index_interval_bytes: int = 4096
    retention_ms: int = 7 * DAY_MS  # -1: for ever
    retention_bytes: int = -1  # -1: for ever
    flush_messages: int = 2**63 - 1
    flush_ms: int = 2**63 - 1
    cleanup_policy: frozenset[str] = frozenset({"delete"})
    delete_retention_ms: int = DAY_MS
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = 2**63 - 1
    file_delete_delay_ms: int = 60_000
    max_message_bytes: int = 1024 * 1024 + 12

    @property
    def deletes(self) -> bool:
        return "delete" in self.cleanup_policy

    @property
    def compacts(self) -> bool:
        return "compact" in self.cleanup_policy

    @property
    def roll_ms(self) -> int:
        """The longest a segment is written to. A compacted one must be sealed in time for `max_compaction_lag_ms`."""
        return min(self.segment_ms, self.max_compaction_lag_ms) if self.compacts else self.segment_ms
