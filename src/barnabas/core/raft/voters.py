"""Who votes: the set of voters, each known by its id and the directory it keeps its log in (KIP-853).

A node that lost its disk comes back with a new directory id, and so as another voter: the promises (votes, acknowledged
offsets) that the old disk held cannot be counted for the new one. The set itself is a record in the log. A replica
obeys the newest one it has, committed or not, and goes back to the one before when that record is truncated away.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec import Struct

from barnabas.model.ids import ZERO_UUID


class Endpoint(NamedTuple):
    name: str
    host: str
    port: int


class ReplicaKey(NamedTuple):
    id: int
    directory_id: bytes = ZERO_UUID


class Voter(Struct, frozen=True):
    id: int
    directory_id: bytes
    endpoints: tuple[Endpoint, ...]
    min_supported_version: int = 0  # of the feature kraft.version
    max_supported_version: int = 1

    @property
    def key(self) -> ReplicaKey:
        return ReplicaKey(self.id, self.directory_id)

    @property
    def address(self) -> Endpoint:
        """Where other controllers reach it: the first controller listener, as in Kafka."""
        return self.endpoints[0]


@dataclass(frozen=True)
class VoterSet:
    voters: tuple[Voter, ...]
    by_id: dict[int, Voter] = field(init=False, repr=False, compare=False)
    majority: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_id", {voter.id: voter for voter in self.voters})
        object.__setattr__(self, "majority", len(self.voters) // 2 + 1)

    @classmethod
    def of(cls, voters: Iterable[Voter]) -> "VoterSet":
        return cls(tuple(sorted(voters, key=lambda voter: voter.id)))

    def __len__(self) -> int:
        return len(self.voters)

    def get(self, voter_id: int) -> Voter | None:
        return self.by_id.get(voter_id)

    def has(self, key: ReplicaKey) -> bool:
        voter = self.by_id.get(key.id)
        # A voter set from before KIP-853 does not know directories: the id alone counts.
        return voter is not None and voter.directory_id in (key.directory_id, ZERO_UUID)

    def others(self, local: ReplicaKey) -> list[Voter]:
        return [voter for voter in self.voters if voter.id != local.id]

    def with_voter(self, voter: Voter) -> "VoterSet":
        """With this voter added, or put in the place of the one with its id."""
        return VoterSet.of([*(known for known in self.voters if known.id != voter.id), voter])

    def without(self, voter_id: int) -> "VoterSet":
        return VoterSet.of(voter for voter in self.voters if voter.id != voter_id)


NO_VOTERS = VoterSet(())
