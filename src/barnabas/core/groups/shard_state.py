"""What all parts of one shard share: the settings, the topics, the clock of this step, the groups, and what goes out.

`now_ms` is set once per step by the shard; nothing in this room reads a clock. The outbox collects what the step wants
done and is emptied by the shard when the step ends.
"""

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from barnabas.core.coordinator.contract import B, Reply, Token
from barnabas.core.coordinator.timers import Timers
from barnabas.core.groups.budget import MetadataBudget
from barnabas.core.groups.config import GroupConfig
from barnabas.core.groups.consumer.regex_cache import RegexCache
from barnabas.core.groups.effects import Effects, Job
from barnabas.core.groups.offsets.pending import PendingOffsets
from barnabas.core.groups.offsets.store import OffsetStore
from barnabas.core.groups.records.keys import Kind, RecordKey
from barnabas.core.groups.topics import TopicsView
from barnabas.core.randomness import Random
from barnabas.core.wall_time import WallTime
from barnabas.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.core.groups.classic.group import ClassicGroup
    from barnabas.core.groups.consumer.group import ConsumerGroup

Group: TypeAlias = "ClassicGroup | ConsumerGroup"


@dataclass(slots=True)
class StaleTopic:
    """A topic of which some offsets may be of another one of the same name (offsets/stale.py)."""

    topic_id: bytes | None  # as it is now
    vanished: bool
    group_ids: list[str] | None = None  # still to be looked at; None before the first step


@dataclass(slots=True)
class ShardState:
    config: GroupConfig
    topics: TopicsView
    rng: Random
    now_ms: int = 0
    wall: WallTime = field(default_factory=WallTime)  # for what is written into records
    timers: Timers = field(default_factory=Timers)
    groups: dict[str, Group] = field(default_factory=dict)
    offsets: OffsetStore = field(default_factory=OffsetStore)
    topic_ids_seen: dict[str, bytes | None] = field(default_factory=dict)  # of topics that have offsets here
    stale: dict[str, StaleTopic] = field(default_factory=dict)  # being looked through
    records: list[tuple[bytes, bytes | None]] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    regexes: RegexCache = field(default_factory=RegexCache)
    changed: dict[str, None] = field(default_factory=dict)  # groups whose topics are to be looked at again
    pending: PendingOffsets = field(default_factory=PendingOffsets)
    budget: MetadataBudget | None = None  # of the node, shared by its shards
    transaction: tuple[int, int] | None = None  # whose records this step writes, when it is a transaction's

    def write(self, key: RecordKey, value: bytes | None) -> None:
        self.records.append((key.encode(), value))

    def tombstone(self, kind: Kind, group_id: str, name: str = "", partition: int = -1) -> None:
        self.records.append((RecordKey(kind, group_id, name, partition).encode(), None))

    def reply(self, token: Token[B], response: B, *, after_commit: bool = True) -> None:
        self.replies.append(Reply(token, response, after_commit))

    def take_effects(self) -> Effects:
        effects = Effects(self.records, self.replies, self.transaction, self.jobs)
        self.records, self.replies, self.transaction, self.jobs = [], [], None, []
        return effects

    def has_offsets(self, group_id: str) -> bool:
        """Committed, or waiting for the end of a transaction."""
        return self.offsets.has_any(group_id) or self.pending.has_group(group_id)

    def random_uuid(self) -> str:
        return str(uuid.UUID(int=self.rng.getrandbits(128), version=4))


def require_group_id(group_id: str | None) -> str:
    if not group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID, "the group id is empty")
    return group_id
