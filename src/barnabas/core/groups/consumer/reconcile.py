"""One step of one member towards its target: revoke first, then take what is free.

| state | on a heartbeat |
|---|---|
| Stable | at the target's epoch: nothing. Behind it: next step |
| UnrevokedPartitions | while the member still reports a partition it must give back: nothing. Then: next step |
| UnreleasedPartitions | next step: somebody may have let go of what it waits for |

The next step keeps what is in the target and asks for the rest back. Only when nothing is to be given back does the
member move to the target's epoch and get the partitions nobody owns. So a partition has one owner at any time: the old
one until its heartbeat no longer lists it, the new one afterwards (trap: an owner that says nothing has not confirmed).
"""

from collections.abc import Mapping

from barnabas.core.groups.consumer.member import ConsumerMember, MemberState
from barnabas.core.groups.records.assignments import CurrentAssignmentValue
from barnabas.core.groups.records.consumer_group import PartitionEpochs, Partitions
from barnabas.model.errors import ErrorCode, KafkaError

Owners = Mapping[tuple[bytes, int], str]


def reconcile(
    member: ConsumerMember, target_epoch: int, target: Partitions, owners: Owners, owned: Partitions | None
) -> CurrentAssignmentValue:
    """The member's next place; its present one when it cannot move. `owned` is None in a keep-alive heartbeat."""
    place = member.place
    match place.state:
        case MemberState.STABLE:
            if place.member_epoch == target_epoch:
                return place
        case MemberState.UNREVOKED_PARTITIONS:
            if _still_owns(owned, place.pending_revocation):
                return place
        case MemberState.UNRELEASED_PARTITIONS:
            pass
        case _:
            # Written by a newer coordinator. Only a member that holds nothing can be started afresh.
            if owned is None or any(owned.values()):
                raise KafkaError(ErrorCode.FENCED_MEMBER_EPOCH, "the member's state is unknown here; it must rejoin")
    return _next_step(member, target_epoch, target, owners, owned)


def _next_step(
    member: ConsumerMember, target_epoch: int, target: Partitions, owners: Owners, owned: Partitions | None
) -> CurrentAssignmentValue:
    place = member.place
    kept: dict[bytes, dict[int, int]] = {}
    revoked: dict[bytes, dict[int, int]] = {}
    for topic_id, epochs in place.assigned.items():
        wanted = target.get(topic_id, frozenset())
        for partition, since in epochs.items():
            side = kept if partition in wanted else revoked
            side.setdefault(topic_id, {})[partition] = since
    if revoked and _still_owns(owned, revoked):
        return CurrentAssignmentValue(
            place.member_epoch, place.member_epoch, MemberState.UNREVOKED_PARTITIONS, kept, revoked
        )
    waiting = False
    for topic_id, numbers in target.items():
        have = kept.get(topic_id, {})
        for partition in sorted(numbers - have.keys()):
            if owners.get((topic_id, partition), member.member_id) == member.member_id:
                kept.setdefault(topic_id, {})[partition] = target_epoch
            else:
                waiting = True
    state = MemberState.UNRELEASED_PARTITIONS if waiting else MemberState.STABLE
    if waiting and place.state == state and place.member_epoch == target_epoch and place.assigned == kept:
        return place  # nothing new: no record for it
    return CurrentAssignmentValue(target_epoch, place.member_epoch, state, kept, {})


def _still_owns(owned: Partitions | None, revoked: PartitionEpochs) -> bool:
    if owned is None:
        return True
    return any(partition in owned.get(topic_id, ()) for topic_id, epochs in revoked.items() for partition in epochs)


def owns_only(owned: Partitions | None, assigned: PartitionEpochs) -> bool:
    """Whether what a member says it has is part of what it was given."""
    if owned is None:
        return False
    return all(numbers <= assigned.get(topic_id, {}).keys() for topic_id, numbers in owned.items())
