"""The coordinator of one `__consumer_offsets` partition: one entrance, effects out.

    effects = shard.handle(request, info, now_ms, token)      a request of a client
    effects = shard.tick(now_ms)                              when `next_deadline_ms()` has come
    effects = shard.on_metadata_change(now_ms)                topics appeared, vanished or grew
    effects = shard.finish(job, result, now_ms)               a job of earlier effects has been computed
    shard.replay(key, value); effects = shard.loaded(now_ms)  before all of it, from the partition's log

Every token given to `handle` is answered exactly once, in the effects of that call or of a later one (a JoinGroup or
SyncGroup waits for the others). State moves when a record is decided on, not when it is committed; replies that depend
on records carry `after_commit` and wait.

When records cannot be written, memory is ahead of the log and nobody can say by how much. The honest way back: answer
`abort_waiting(NOT_COORDINATOR)` and every held reply with that error, throw the shard away, and replay a new one from
the log. Clients look for the coordinator again and retry; members found in the log keep their place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from barnabas.core.coordinator.contract import B, RequestInfo, Token
from barnabas.core.groups import admin
from barnabas.core.groups.budget import MetadataBudget
from barnabas.core.groups.classic.group import ClassicGroup
from barnabas.core.groups.classic.load import load_classic
from barnabas.core.groups.config import GroupConfig
from barnabas.core.groups.consumer.group import ConsumerGroup
from barnabas.core.groups.consumer.load import load_consumer
from barnabas.core.groups.consumer.metadata import topics_changed
from barnabas.core.groups.effects import Effects, Job
from barnabas.core.groups.lengths import check_lengths
from barnabas.core.groups.offsets.expire import arm_expiry
from barnabas.core.groups.offsets.fetch import TopicRequest, fetch_offsets
from barnabas.core.groups.offsets.stale import forget_stale_topics
from barnabas.core.groups.offsets.store import OffsetStore
from barnabas.core.groups.offsets.transactional import replay_transactional, transaction_ended
from barnabas.core.groups.parked import abort_waiting
from barnabas.core.groups.refusals import refusal
from barnabas.core.groups.replay import replay_record
from barnabas.core.groups.requests import handle
from barnabas.core.groups.shard_state import ShardState
from barnabas.core.groups.sizes import group_bytes
from barnabas.core.groups.topics import TopicsView
from barnabas.core.randomness import Random
from barnabas.core.wall_time import WallTime
from barnabas.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.wire.messages import ListedGroupBody, OffsetFetchResponseTopicsBody, Request

_LOAD_STEP = 1_000  # groups and members, about 5 ms
_TICK_ACTIONS = 8  # a thousand members may expire at once, and the departure of each takes some milliseconds


class GroupShard:
    def __init__(
        self,
        config: GroupConfig,
        topics: TopicsView,
        rng: Random,
        budget: MetadataBudget | None = None,
        wall_of: Callable[[int], int] | None = None,
    ) -> None:
        """`budget` is the node's, for what members say of themselves; without it there is no such limit.

        `wall_of` says what the wall clock shows at a `now_ms`, which is steady; without it they are the same.
        """
        self._world = ShardState(config, topics, rng, budget=budget)
        if wall_of is not None:
            self._world.wall = WallTime(wall_of)
        self._loaded: set[str] = set()  # groups, while the shard is loaded

    def metadata_bytes(self) -> int:
        """What the members of this shard's groups keep in memory of what they said, roughly."""
        return sum(map(group_bytes, self._world.groups.values()))

    def handle(self, request: Request[B], info: RequestInfo, now_ms: int, token: Token[B]) -> Effects:
        world = self._begin(now_ms)
        try:
            check_lengths(request, info)
            handle(world, request, info, token)
        except KafkaError as error:
            world.reply(token, refusal(info.api_key, request, info.api_version, error.code, error.message))
        return world.take_effects()

    def tick(self, now_ms: int) -> Effects:
        """Some of what is due; if there is more, `next_deadline_ms()` is in the past."""
        world = self._begin(now_ms)
        for _ in range(_TICK_ACTIONS):
            action = world.timers.pop_due(now_ms)
            if action is None:
                break
            action()
        return world.take_effects()

    def next_deadline_ms(self) -> int | None:
        return self._world.timers.next_deadline_ms()

    def on_metadata_change(self, now_ms: int) -> Effects:
        world = self._begin(now_ms)
        forget_stale_topics(world)
        topics_changed(world)
        return world.take_effects()

    def finish(self, job: Job, result: object, now_ms: int) -> Effects:
        world = self._begin(now_ms)
        job.finish(result)
        return world.take_effects()

    def transaction_ended(self, producer_id: int, commit: bool, now_ms: int) -> Effects:
        """The marker that ends a producer's transaction has been written to this partition."""
        transaction_ended(self._begin(now_ms), producer_id, commit)
        return self._world.take_effects()

    def replay(self, key: bytes, value: bytes | None, now_ms: int = 0) -> str | None:
        """Apply a record of the log. A text comes back when the record was skipped (for the node's log)."""
        return replay_record(self._begin(now_ms), key, value)

    def replay_transactional(self, producer_id: int, key: bytes, value: bytes | None) -> str | None:
        """The same for a record of a transaction: it waits for the marker."""
        return replay_transactional(self._world, producer_id, key, value)

    def replay_marker(self, producer_id: int, commit: bool) -> None:
        transaction_ended(self._world, producer_id, commit)

    def loaded(self, now_ms: int) -> Effects:
        """The end of the replay; after `loading` it has little left to do."""
        world = self._begin(now_ms)
        for _ in self.loading(now_ms):
            pass
        self._loaded.clear()
        forget_stale_topics(world)
        world.wall.believed_ms()
        arm_expiry(world)
        return world.take_effects()

    def loading(self, now_ms: int) -> Iterator[None]:
        """What `loaded` does for each group, in steps: others are served in between when there are thousands."""
        world = self._begin(now_ms)
        work = 0
        for group_id in [*world.groups, *world.offsets.group_ids()]:
            if group_id in self._loaded:
                continue
            self._loaded.add(group_id)
            group = world.groups.get(group_id)
            if group is None:  # offsets without a group record: a "simple" group, there by its offsets alone
                group = world.groups[group_id] = ClassicGroup(group_id, world.wall.stamp_ms)
            if isinstance(group, ClassicGroup):
                load_classic(world, group)
            else:
                load_consumer(world, group)
            work += 1 + len(group.members)
            if work >= _LOAD_STEP:
                work = 0
                yield

    def abort_waiting(self, code: ErrorCode) -> Effects:
        """This shard is no coordinator any more: every parked request is answered, nothing is written."""
        abort_waiting(self._world, code)
        return Effects(replies=self._world.take_effects().replies)

    def update_config(self, config: GroupConfig) -> None:
        """Take changed settings; timers that run keep the deadline they were given."""
        self._world.config = config

    def fetch_offsets(
        self,
        group_id: str,
        topics: Sequence[TopicRequest] | None,
        *,
        member_id: str | None = None,
        member_epoch: int = -1,
        require_stable: bool = False,
    ) -> list[OffsetFetchResponseTopicsBody]:
        """The topics of an OffsetFetch answer for one group; raises KafkaError. See offsets/fetch.py."""
        return fetch_offsets(
            self._world,
            group_id,
            topics,
            member_id=member_id,
            member_epoch=member_epoch,
            require_stable=require_stable,
        )

    def list_groups(self, states: Sequence[str] = (), types: Sequence[str] = ()) -> Iterator[ListedGroupBody]:
        return admin.list_groups(self._world, states, types)

    @property
    def groups(self) -> dict[str, ClassicGroup | ConsumerGroup]:
        """For metrics and tests: read, never write."""
        return self._world.groups

    @property
    def offsets(self) -> OffsetStore:
        """For metrics: read, never write."""
        return self._world.offsets

    def _begin(self, now_ms: int) -> ShardState:
        # The clock of a step never runs backwards, whatever the driver's does.
        self._world.now_ms = max(self._world.now_ms, now_ms)
        self._world.wall.begin(self._world.now_ms)
        return self._world
