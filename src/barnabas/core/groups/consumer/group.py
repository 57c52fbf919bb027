"""A KIP-848 consumer group: three epochs and who owns what.

- `epoch` (the group's) moves when members, subscriptions or their topics change;
- `target_epoch` follows when the assignor has been run for that epoch;
- each member's epoch follows when it has reached its part of the target.

`owners` is the rule of the house: a partition belongs to at most one member from the moment it is handed out until its
owner has said that it gave it back (or was put out). All changes of a member's place go through `put`, which keeps it.
"""

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING

from barnabas.core.groups.consumer.member import ConsumerMember, pairs
from barnabas.core.groups.records.consumer_group import ConsumerGroupValue, RegexValue, TargetEpochValue
from barnabas.core.groups.records.keys import Kind
from barnabas.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.core.groups.consumer.target import AssignmentRun
    from barnabas.core.groups.shard_state import ShardState

Target = dict[bytes, frozenset[int]]

_EPOCHS_IN_COMMITS_SINCE = 9
_FIRST_EPOCH = 1  # Kafka 4 begins here, so that a member's epoch is above 0 (joining) from its first answer on


class ConsumerState(Enum):
    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


class ConsumerGroup:
    __slots__ = (
        "facts",
        "group_id",
        "may_describe",
        "members",
        "owners",
        "regexes",
        "resolving",
        "run",
        "static_members",
        "target_facts",
        "targets",
    )

    has_classic_members = False

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.facts = ConsumerGroupValue(_FIRST_EPOCH)
        self.target_facts = TargetEpochValue(_FIRST_EPOCH)
        self.members: dict[str, ConsumerMember] = {}
        self.static_members: dict[str, str] = {}  # instance id -> member id
        self.targets: dict[str, Target] = {}
        self.owners: dict[tuple[bytes, int], str] = {}
        self.regexes: dict[str, RegexValue] = {}
        self.run: AssignmentRun | None = None  # computed in a thread at this moment
        self.may_describe: Callable[[str], bool] | None = None  # which topics who beat last may be told of
        self.resolving: set[str] = set()  # regular expressions that a thread is matching

    @property
    def epoch(self) -> int:
        return self.facts.epoch

    @property
    def target_epoch(self) -> int:
        return self.target_facts.epoch

    @property
    def is_empty(self) -> bool:
        return not self.members

    @property
    def is_computing(self) -> bool:
        """A thread is busy with its next assignment, or with what that needs first."""
        return self.run is not None or bool(self.resolving)

    @property
    def state(self) -> ConsumerState:
        if not self.members:
            return ConsumerState.EMPTY
        if self.epoch > self.target_epoch:
            return ConsumerState.ASSIGNING
        if all(member.is_reconciled_to(self.target_epoch) for member in self.members.values()):
            return ConsumerState.STABLE
        return ConsumerState.RECONCILING

    # --- members ---------------------------------------------------------------------------------------------------

    def put(self, member: ConsumerMember) -> None:
        """Add a member or take its new facts and place; partitions it let go of become free."""
        before = self.members.get(member.member_id)
        if before is not None:
            self._let_go(before)
        self.members[member.member_id] = member
        if member.facts.instance_id is not None:
            self.static_members[member.facts.instance_id] = member.member_id
        for assignment in (member.place.assigned, member.place.pending_revocation):
            for pair in pairs(assignment):
                self.owners[pair] = member.member_id

    def remove(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        if member is None:
            return
        self._let_go(member)
        self.targets.pop(member_id, None)
        instance_id = member.facts.instance_id
        if instance_id is not None and self.static_members.get(instance_id) == member_id:
            del self.static_members[instance_id]

    def _let_go(self, member: ConsumerMember) -> None:
        for assignment in (member.place.assigned, member.place.pending_revocation):
            for pair in pairs(assignment):
                if self.owners.get(pair) == member.member_id:
                    del self.owners[pair]

    def static_member(self, instance_id: str | None) -> ConsumerMember | None:
        return None if instance_id is None else self.members.get(self.static_members.get(instance_id, ""))

    def known_member(self, member_id: str, instance_id: str | None = None) -> ConsumerMember:
        if instance_id is not None:
            current = self.static_member(instance_id)
            if current is None:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
            if current.member_id != member_id:
                raise KafkaError(
                    ErrorCode.FENCED_INSTANCE_ID,
                    f"Static member {member_id} with instance id {instance_id} was fenced by member "
                    f"{current.member_id}.",
                )
        member = self.members.get(member_id)
        if member is None:
            raise KafkaError(
                ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {self.group_id}."
            )
        return member

    def all_classic_without(self, member_ids: set[str]) -> bool:
        return all(member.is_classic or member.member_id in member_ids for member in self.members.values())

    # --- subscriptions ---------------------------------------------------------------------------------------------

    def topics_of(self, member: ConsumerMember) -> frozenset[str]:
        regex = self.regexes.get(member.facts.topic_regex or "")
        return frozenset(member.facts.topic_names) | frozenset(regex.topics if regex else ())

    def subscriptions(self) -> dict[tuple[tuple[str, ...], str | None], frozenset[str]]:
        """What the members ask for, each distinct wish once (most groups have one), and the topics it stands for."""
        return {
            (member.facts.topic_names, member.facts.topic_regex): self.topics_of(member)
            for member in {(m.facts.topic_names, m.facts.topic_regex): m for m in self.members.values()}.values()
        }

    def subscribed_topics(self) -> set[str]:
        return set().union(*self.subscriptions().values())

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.subscribed_topics()

    # --- offsets ---------------------------------------------------------------------------------------------------

    def check_commit(
        self, world: "ShardState", member_id: str, instance_id: str | None, epoch: int, version: int
    ) -> Callable[[str, int], ErrorCode]:
        """May this member commit, and for which partitions? (KIP-848, and KIP-1251 for an epoch that has moved on.)"""
        if epoch < 0 and not self.members:
            return lambda topic, partition: ErrorCode.NONE
        member = self.known_member(member_id)
        if member.is_classic:
            if epoch != member.epoch:
                raise KafkaError(ErrorCode.ILLEGAL_GENERATION, f"the member is in generation {member.epoch}")
            return lambda topic, partition: ErrorCode.NONE
        if version < _EPOCHS_IN_COMMITS_SINCE:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "members of the consumer protocol commit with version 9")
        if epoch == member.epoch:
            return lambda topic, partition: ErrorCode.NONE
        if epoch > member.epoch or epoch < 0:
            raise KafkaError(ErrorCode.STALE_MEMBER_EPOCH, f"the member is in epoch {member.epoch}")

        def held_since(topic: str, partition: int) -> ErrorCode:
            # The commit left before the epoch moved. It is good where the partition was the member's all the while.
            topic_id = world.topics.topic_id(topic) or b""
            for assignment in (member.place.assigned, member.place.pending_revocation):
                since = assignment.get(topic_id, {}).get(partition)
                if since is not None and since <= epoch:
                    return ErrorCode.NONE
            return ErrorCode.STALE_MEMBER_EPOCH

        return held_since

    def check_fetch(self, member_id: str | None, member_epoch: int) -> None:
        member = self.known_member(member_id or "")
        if member_epoch != member.epoch:
            code = ErrorCode.ILLEGAL_GENERATION if member.is_classic else ErrorCode.STALE_MEMBER_EPOCH
            raise KafkaError(code, f"the member is in epoch {member.epoch}")

    # --- the end ---------------------------------------------------------------------------------------------------

    def bury(self, world: "ShardState") -> None:
        """Tombstones for all that was written of this group, in the order in which Kafka writes them."""
        for kind in (Kind.CONSUMER_CURRENT_MEMBER, Kind.CONSUMER_TARGET_MEMBER):
            for member_id in self.members:
                world.tombstone(kind, self.group_id, member_id)
        world.tombstone(Kind.CONSUMER_TARGET_EPOCH, self.group_id)
        for member_id in self.members:
            world.tombstone(Kind.CONSUMER_MEMBER, self.group_id, member_id)
        for regex in self.regexes:
            world.tombstone(Kind.CONSUMER_REGEX, self.group_id, regex)
        world.tombstone(Kind.CONSUMER_GROUP, self.group_id)
        if world.groups.get(self.group_id) is self:
            del world.groups[self.group_id]
