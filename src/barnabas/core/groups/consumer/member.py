"""One member of a consumer group: what it asked for, and where it stands on the way to its target.

Both halves are the very values of the log's records (kinds 5 and 8): replacing one and writing it is a single act, and
a replayed member equals the living one by construction.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from barnabas.core.groups.records.assignments import CurrentAssignmentValue
from barnabas.core.groups.records.consumer_group import ConsumerMemberValue, PartitionEpochs

JOINING_EPOCH = 0
LEAVING_EPOCH = -1
STATIC_LEAVING_EPOCH = -2


class MemberState(IntEnum):
    """Numbers of the log's format."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1  # must give partitions back, and has not said that it did
    UNRELEASED_PARTITIONS = 2  # has all it can get; some of its target is still held by others


NOWHERE = CurrentAssignmentValue(0, 0, MemberState.STABLE, {}, {})


@dataclass(slots=True)
class ConsumerMember:
    member_id: str
    facts: ConsumerMemberValue
    place: CurrentAssignmentValue = NOWHERE

    @property
    def epoch(self) -> int:
        return self.place.member_epoch

    @property
    def is_classic(self) -> bool:
        """It speaks the classic protocol, inside a group that has moved on to the new one."""
        return self.facts.classic is not None

    def is_reconciled_to(self, target_epoch: int) -> bool:
        return self.place.state == MemberState.STABLE and self.place.member_epoch == target_epoch


def pairs(assignment: PartitionEpochs) -> Iterable[tuple[bytes, int]]:
    for topic_id, epochs in assignment.items():
        for partition in epochs:
            yield topic_id, partition


def as_sets(assignment: PartitionEpochs) -> dict[bytes, frozenset[int]]:
    return {topic_id: frozenset(epochs) for topic_id, epochs in assignment.items()}
