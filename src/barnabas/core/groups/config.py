"""The coordinator's settings, by Kafka's names with underscores.

One departure from Kafka, on purpose. Kafka makes every new group wait the whole `group.initial.rebalance.delay.ms`
(3 s) so that members that start together share one rebalance. Here the setting is the ceiling of an adaptive wait: the
first rebalance begins once no further member has come for `initial_rebalance_quiet_ms`, and at the latest when the
setting has passed. Members that arrive together still share one generation, and a lone consumer reads its first record
after a fraction of a second. A ceiling of 0 turns the wait off.

A second one, for KIP-848 groups: a member that waits for partitions others are still giving back is told to heartbeat
sooner than `group.consumer.heartbeat.interval.ms` until it has them, and so is one that waits for the next assignment
(`group.consumer.assignment.interval.ms`). Members that start together would otherwise wait a
whole interval for what was free after milliseconds. The larger the group the slower, so that a group that waits for one
slow member costs a bounded number of requests.

A third one: with `group.consumer.assignor.offload.enable` Kafka computes every assignment beside the heartbeat that
asks for it. Here only one that takes more than some milliseconds (`assignment_inline_work`); the same holds for regular
expressions (`regex_inline_names`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

_MINUTE_MS = 60_000
_WAITING_MS_PER_MEMBER = 5  # 200 requests a second of one group at most


class MigrationPolicy(Enum):
    """Which way a live group may move between the classic and the consumer protocol (KIP-848)."""

    DISABLED = "disabled"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    BIDIRECTIONAL = "bidirectional"

    @property
    def may_upgrade(self) -> bool:
        return self in (MigrationPolicy.UPGRADE, MigrationPolicy.BIDIRECTIONAL)

    @property
    def may_downgrade(self) -> bool:
        return self in (MigrationPolicy.DOWNGRADE, MigrationPolicy.BIDIRECTIONAL)


def _no_overrides(group_id: str) -> Mapping[str, int]:
    return {}


@dataclass(frozen=True, slots=True)
class GroupConfig:
    group_initial_rebalance_delay_ms: int = 3_000
    initial_rebalance_quiet_ms: int = 150  # ours: see above
    waiting_heartbeat_min_ms: int = 200  # ours: see above
    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 30 * _MINUTE_MS
    group_max_size: int = 2**31 - 1
    offsets_retention_minutes: int = 7 * 24 * 60
    offsets_retention_check_interval_ms: int = 10 * _MINUTE_MS
    offset_metadata_max_bytes: int = 4096
    group_consumer_session_timeout_ms: int = 45_000
    group_consumer_min_session_timeout_ms: int = 45_000
    group_consumer_max_session_timeout_ms: int = 60_000
    group_consumer_heartbeat_interval_ms: int = 5_000
    group_consumer_min_heartbeat_interval_ms: int = 5_000
    group_consumer_max_heartbeat_interval_ms: int = 15_000
    group_consumer_max_size: int = 2**31 - 1
    # KIP-1263: the least time between two assignments of a group, so that members that come one after the other share
    # one. The node gives Kafka's 1,000; a shard by itself assigns at once.
    group_consumer_assignment_interval_ms: int = 0
    group_consumer_min_assignment_interval_ms: int = 0
    group_consumer_max_assignment_interval_ms: int = 15_000
    group_consumer_assignor_offload_enable: bool = True
    assignment_inline_work: int = 1_000  # ours: partitions, members and topics of an assignment made at once, 5-10 ms
    regex_inline_names: int = 1_000  # ours: topics matched with a regular expression at once, 5 ms
    group_consumer_assignors: tuple[str, ...] = ("uniform", "range")  # the first is the default
    group_consumer_migration_policy: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL
    # Per-group settings (`consumer.session.timeout.ms`, `consumer.heartbeat.interval.ms`), by group id.
    overrides: Callable[[str], Mapping[str, int]] = _no_overrides

    @property
    def offsets_retention_ms(self) -> int:
        return self.offsets_retention_minutes * _MINUTE_MS

    def consumer_session_timeout_ms(self, group_id: str) -> int:
        wanted = self.overrides(group_id).get("consumer.session.timeout.ms", self.group_consumer_session_timeout_ms)
        return min(max(wanted, self.group_consumer_min_session_timeout_ms), self.group_consumer_max_session_timeout_ms)

    def consumer_assignment_interval_ms(self, group_id: str) -> int:
        wanted = self.overrides(group_id).get(
            "consumer.assignment.interval.ms", self.group_consumer_assignment_interval_ms
        )
        low, high = self.group_consumer_min_assignment_interval_ms, self.group_consumer_max_assignment_interval_ms
        return min(max(wanted, low), high)

    def waiting_heartbeat_interval_ms(self, group_id: str, members: int) -> int:
        soon_ms = max(self.waiting_heartbeat_min_ms, members * _WAITING_MS_PER_MEMBER)
        return min(soon_ms, self.consumer_heartbeat_interval_ms(group_id))

    def consumer_heartbeat_interval_ms(self, group_id: str) -> int:
        wanted = self.overrides(group_id).get(
            "consumer.heartbeat.interval.ms", self.group_consumer_heartbeat_interval_ms
        )
        return min(
            max(wanted, self.group_consumer_min_heartbeat_interval_ms), self.group_consumer_max_heartbeat_interval_ms
        )
