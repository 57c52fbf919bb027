"""The state of a classic group: who is in it, which generation, and the two barriers of a rebalance.

    Empty ──join──> PreparingRebalance ──all joined / time──> CompletingRebalance ──leader's sync──> Stable
      ^                    ^  │                                       │                               │
      └──nobody came───────┼──┘<───────member joins, leaves, expires──┴───────────────────────────────┘

Dead is not a state here: a deleted group is simply not there any more. This file holds facts and questions about them;
what moves a group from state to state is in rebalance.py.
"""

from collections.abc import Iterable
from enum import Enum
from typing import TYPE_CHECKING

from barnabas.core.groups.classic.member import ClassicMember, Protocols
from barnabas.core.groups.embedded import CONSUMER_PROTOCOL_TYPE
from barnabas.core.groups.records.group_metadata import ClassicGroupValue, ClassicMemberValue
from barnabas.core.groups.records.keys import Kind
from barnabas.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.core.groups.shard_state import ShardState


class ClassicState(Enum):
    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"


class ClassicGroup:
    __slots__ = (
        "generation",
        "group_id",
        "initial_deadline_ms",
        "leader_id",
        "members",
        "pending_join",
        "pending_sync",
        "previous_state",
        "protocol_name",
        "protocol_type",
        "state",
        "state_timestamp_ms",
        "static_members",
        "subscribed_topics",
    )

    def __init__(self, group_id: str, now_ms: int) -> None:
        self.group_id = group_id
        self.state = ClassicState.EMPTY
        self.previous_state = ClassicState.EMPTY
        self.state_timestamp_ms = now_ms
        self.generation = 0
        self.protocol_type: str | None = None  # None: a "simple" group, offsets without members
        self.protocol_name: str | None = None
        self.leader_id: str | None = None
        self.members: dict[str, ClassicMember] = {}
        self.static_members: dict[str, str] = {}  # instance id -> member id
        self.pending_join: set[str] = set()  # ids handed out (KIP-394) whose second JoinGroup has not come
        self.pending_sync: set[str] = set()
        self.initial_deadline_ms = 0  # the latest end of the first rebalance's wait
        self.subscribed_topics: frozenset[str] | None = frozenset()  # None: cannot be told

    def move_to(self, state: ClassicState, now_ms: int) -> None:
        self.previous_state = self.state
        self.state = state
        self.state_timestamp_ms = now_ms

    @property
    def is_empty(self) -> bool:
        return self.state is ClassicState.EMPTY

    @property
    def has_classic_members(self) -> bool:
        """Somebody was given an id and is about to join: not a group to delete."""
        return bool(self.pending_join)

    @property
    def is_initial_rebalance(self) -> bool:
        return self.state is ClassicState.PREPARING and self.previous_state is ClassicState.EMPTY

    @property
    def all_joined(self) -> bool:
        return not self.pending_join and all(member.join_token is not None for member in self.members.values())

    @property
    def uses_consumer_protocol(self) -> bool:
        return self.protocol_type == CONSUMER_PROTOCOL_TYPE

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    # --- members ---------------------------------------------------------------------------------------------------

    def add(self, member: ClassicMember) -> None:
        if not self.members:
            self.protocol_type = member.protocol_type
        self.members[member.member_id] = member
        self.pending_join.discard(member.member_id)
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        if self.leader_id is None:
            self.leader_id = member.member_id

    def remove(self, member: ClassicMember) -> None:
        self.members.pop(member.member_id, None)
        self.pending_sync.discard(member.member_id)
        if member.instance_id is not None and self.static_members.get(member.instance_id) == member.member_id:
            del self.static_members[member.instance_id]
        if self.leader_id == member.member_id:
            self.leader_id = next(iter(self.members), None)

    def replace_static(self, instance_id: str, new_member_id: str) -> ClassicMember:
        """The same process came back under a new member id: it takes the old one's place, order and leadership."""
        old_id = self.static_members[instance_id]
        member = self.members[old_id]
        member.member_id = new_member_id
        self.members = {new_member_id if key == old_id else key: value for key, value in self.members.items()}
        self.static_members[instance_id] = new_member_id
        if old_id in self.pending_sync:
            self.pending_sync.remove(old_id)
            self.pending_sync.add(new_member_id)
        if self.leader_id == old_id:
            self.leader_id = new_member_id
        return member

    def known_member(self, member_id: str, instance_id: str | None) -> ClassicMember:
        """The member a request speaks for; refused when it is unknown or its instance id belongs to a newer one."""
        if instance_id is not None:
            current = self.static_members.get(instance_id)
            if current is None:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"no static member {instance_id!r}")
            if current != member_id:
                raise KafkaError(ErrorCode.FENCED_INSTANCE_ID, f"{instance_id!r} is held by another member now")
        member = self.members.get(member_id)
        if member is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"{member_id!r} is not in group {self.group_id!r}")
        return member

    def elect_joined_leader(self) -> bool:
        """Keep the leader if it has joined, else take one that has; False when nobody has."""
        leader = self.members.get(self.leader_id or "")
        if leader is not None and leader.join_token is not None:
            return True
        for member in self.members.values():
            if member.join_token is not None:
                self.leader_id = member.member_id
                return True
        return False

    # --- protocols -------------------------------------------------------------------------------------------------

    def _common_protocols(self) -> set[str]:
        names = [{name for name, _ in member.protocols} for member in self.members.values()]
        return set.intersection(*names) if names else set()

    def supports(self, protocol_type: str, protocols: Protocols) -> bool:
        if not self.members:
            return bool(protocol_type) and bool(protocols)
        common = self._common_protocols()
        return protocol_type == self.protocol_type and any(name in common for name, _ in protocols)

    def select_protocol(self) -> str:
        """Every member votes for the first of its protocols that all can speak; ties go to the earlier voter's."""
        common = self._common_protocols()
        votes: dict[str, int] = {}
        for member in self.members.values():
            choice = next(name for name, _ in member.protocols if name in common)
            votes[choice] = votes.get(choice, 0) + 1
        return max(votes, key=lambda name: votes[name])

    def compute_subscribed_topics(self) -> None:
        if not self.members:
            self.subscribed_topics = frozenset()
            return
        self.subscribed_topics = None
        if not self.uses_consumer_protocol or self.protocol_name is None:
            return
        distinct: dict[int, frozenset[str]] = {}
        for member in self.members.values():
            topics = member.topics_for(self.protocol_name)
            if topics is None:
                return
            distinct[id(topics)] = topics
        self.subscribed_topics = frozenset().union(*distinct.values())

    def read_topics(self, member: ClassicMember) -> None:
        """Read what a member asks for now that it joins, for the protocol that the group is likely to choose."""
        if self.uses_consumer_protocol and member.protocols:
            first = member.protocols[0][0]
            leader = self.members.get(self.leader_id or "", member)
            member.topics_for(first, leader.topics_for(first) if leader is not member else None)

    def is_subscribed_to(self, topic: str) -> bool:
        """Unknown subscriptions count as "maybe" for expiry and deletion: nothing is thrown away on a guess."""
        if self.subscribed_topics is None:
            return self.uses_consumer_protocol
        return topic in self.subscribed_topics

    def bury(self, world: "ShardState") -> None:
        world.tombstone(Kind.CLASSIC_GROUP, self.group_id)
        world.groups.pop(self.group_id, None)

    # --- what is written -------------------------------------------------------------------------------------------

    def to_value(self) -> ClassicGroupValue:
        return ClassicGroupValue(
            self.protocol_type or "",
            self.generation,
            self.protocol_name,
            self.leader_id,
            self.state_timestamp_ms,
            tuple(_member_values(self.members.values(), self.protocol_name)),
        )

    @classmethod
    def from_value(cls, group_id: str, value: ClassicGroupValue) -> "ClassicGroup":
        group = cls(group_id, value.state_timestamp_ms)
        group.generation = value.generation
        group.protocol_type = value.protocol_type or None
        group.protocol_name = value.protocol
        group.state = ClassicState.STABLE if value.members else ClassicState.EMPTY
        group.previous_state = group.state
        for kept in value.members:
            group.add(
                ClassicMember(
                    kept.member_id,
                    kept.instance_id,
                    kept.client_id,
                    kept.client_host,
                    kept.rebalance_timeout_ms,
                    kept.session_timeout_ms,
                    value.protocol_type,
                    ((value.protocol or "", kept.subscription),),
                    kept.assignment,
                )
            )
        group.leader_id = value.leader
        group.compute_subscribed_topics()
        return group


def _member_values(members: Iterable[ClassicMember], protocol: str | None) -> Iterable[ClassicMemberValue]:
    for member in members:
        yield ClassicMemberValue(
            member.member_id,
            member.instance_id,
            member.client_id,
            member.client_host,
            member.rebalance_timeout_ms,
            member.session_timeout_ms,
            member.metadata_for(protocol),
            member.assignment,
        )
