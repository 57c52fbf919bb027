"""What must hold in every history, checked as it happens (S1, S2, S3, S4 of docs/reliability.md)."""

from typing import TYPE_CHECKING

from barnabas.core.raft import ReplicaKey
from barnabas.core.raft.effects import RoleChange
from barnabas.core.raft.messages import VoteRequest, VoteResponse
from barnabas.core.raft.quorum import QuorumBroken
from tests.unit.raft.disk import Batch, CutThroughBatch, Snapshot

if TYPE_CHECKING:
    from tests.unit.raft.member import Member


LOG_MATCHING = "log matching"
HIGH_WATERMARK_RISES = "the high watermark never falls"
HIGH_WATERMARK_IN_LOG = "the high watermark is within the log"
ONE_COMMITTED_VALUE = "an offset has one committed value"
COMMITTED_ON_MAJORITY = "what is committed is on the disks of a majority"
EPOCHS_RISE = "epochs never fall"
VOTERS_OF_THE_LOG = "the voters are those of the log"
ONE_LEADER = "an epoch has one leader"
LEADER_COMPLETENESS = "a leader has everything that was committed"
ONE_VOTE = "one vote an epoch"
VOTE_ON_DISK = "a vote is on disk before it leaves"
WHOLE_BATCHES = "a log is cut between batches"
BELOW_HIGH_WATERMARK = "nothing committed is cut"
PROGRESS = "a quorum without faults elects, commits and agrees"
ANSWERS = "every request is answered"


class Violation(AssertionError):
    """One of the invariants above does not hold."""

    def __init__(self, invariant: str, text: str) -> None:
        super().__init__(f"{invariant}: {text}")
        self.invariant = invariant


_OF_THE_MACHINE = (  # what the machine finds out by itself, by the words of its QuorumBroken
    (" is led by ", ONE_LEADER),
    ("told to follow ourselves", ONE_LEADER),
    ("epoch ", EPOCHS_RISE),
    ("the leader's log parts from ours", BELOW_HIGH_WATERMARK),
)


def invariant_of(problem: Exception) -> str | None:
    """Which invariant this says is broken; None where it says none, as an exception nobody meant does."""
    if isinstance(problem, Violation):
        return problem.invariant
    if isinstance(problem, CutThroughBatch):
        return WHOLE_BATCHES
    if isinstance(problem, QuorumBroken):
        return next((name for words, name in _OF_THE_MACHINE if words in str(problem)), None)
    return None


class Ledger:
    def __init__(self) -> None:
        self.leaders: dict[int, ReplicaKey] = {}
        self.votes: dict[tuple[ReplicaKey, int], ReplicaKey] = {}
        self.batches: dict[tuple[int, int], tuple[Batch, int]] = {}  # by epoch and offset: the batch, the epoch before
        self.committed: dict[int, Batch] = {}
        self.committed_end = 0
        self.snapshots: dict[object, Snapshot] = {}
        self.answered: dict[object, tuple[int, object]] = {}
        self.check_durable = True

    def appended(self, member: "Member", batch: Batch, epoch_before: int) -> None:
        """Log matching: same epoch and offset, same batch, and the same before it."""
        known = self.batches.setdefault((batch.epoch, batch.base_offset), (batch, epoch_before))
        if known != (batch, epoch_before):
            raise Violation(LOG_MATCHING, f"{member.name} has {batch} after {epoch_before}, known is {known}")

    def committed_to(self, member: "Member", old: int, new: int) -> None:
        if new < old:
            raise Violation(HIGH_WATERMARK_RISES, f"{member.name}: high watermark fell from {old} to {new}")
        if new > member.disk.end_offset:
            raise Violation(
                HIGH_WATERMARK_IN_LOG,
                f"{member.name}: high watermark {new} above the log's end {member.disk.end_offset}",
            )
        for batch in reversed(member.disk.log):
            if batch.base_offset < old:
                break
            if batch.last_offset < new:
                known = self.committed.setdefault(batch.base_offset, batch)
                if known != batch:
                    raise Violation(ONE_COMMITTED_VALUE, f"{member.name} commits {batch}, committed was {known}")
        self.committed_end = max(self.committed_end, new)

    def leader_commits(self, member: "Member", new: int, members: "list[Member]") -> None:
        """What a leader calls committed is on the disks of a majority of the voters it knows."""
        last = next((batch for batch in reversed(member.disk.log) if batch.last_offset < new), None)
        if last is None or not self.check_durable:
            return
        voters = member.node.voters
        safe = [other for other in members if voters.has(other.key) and _has(other, last)]
        if len(safe) < voters.majority:
            raise Violation(
                COMMITTED_ON_MAJORITY,
                f"{member.name} commits {last}, which only {[other.name for other in safe]} have on disk",
            )

    def became(self, member: "Member", change: RoleChange) -> None:
        if change.epoch < member.disk.state.epoch:
            raise Violation(EPOCHS_RISE, f"{member.name}: epoch {change.epoch} after {member.disk.state.epoch}")
        if not member.queue and member.node.voters != member.disk.voters_at(member.disk.end_offset):
            raise Violation(VOTERS_OF_THE_LOG, f"{member.name} goes by {member.node.voters}, its log says otherwise")
        if change.role != "leader":
            return
        known = self.leaders.setdefault(change.epoch, member.key)
        if known != member.key:
            raise Violation(ONE_LEADER, f"epoch {change.epoch} has two leaders: {known.id} and {member.key.id}")
        if member.elected_in == change.epoch and member.elections_seen != member.restarts:
            raise Violation(ONE_LEADER, f"{member.name} leads epoch {change.epoch} again after a restart")
        member.elected_in, member.elections_seen = change.epoch, member.restarts
        own = {batch.base_offset: batch for batch in member.disk.all_batches()}
        for base_offset, batch in self.committed.items():
            if own.get(base_offset) != batch:
                raise Violation(
                    LEADER_COMPLETENESS, f"{member.name} leads epoch {change.epoch} without committed {batch}"
                )

    def vote_asked(self, member: "Member", request: VoteRequest) -> None:
        if not request.pre_vote:
            self._vote(member, request.replica_epoch, member.key)

    def vote_answered(self, member: "Member", request: VoteRequest, response: VoteResponse) -> None:
        if response.vote_granted and not request.pre_vote:
            self._vote(member, request.replica_epoch, ReplicaKey(request.replica_id, request.replica_directory_id))

    def _vote(self, member: "Member", epoch: int, candidate: ReplicaKey) -> None:
        known = self.votes.setdefault((member.key, epoch), candidate)
        if known != candidate:
            raise Violation(
                ONE_VOTE, f"{member.name} votes for {candidate.id} in epoch {epoch}, and voted for {known.id}"
            )
        state = member.disk.state
        if state.epoch < epoch or (state.epoch == epoch and state.voted_for != candidate):
            raise Violation(VOTE_ON_DISK, f"{member.name}: a vote of epoch {epoch} leaves, on disk is {state}")

    def snapshot(self, snapshot: Snapshot) -> None:
        if self.snapshots.setdefault(snapshot.id, snapshot) != snapshot:
            raise Violation(ONE_COMMITTED_VALUE, f"two snapshots {snapshot.id}")


def _has(member: "Member", batch: Batch) -> bool:
    if batch.last_offset < member.disk.start.offset:
        return True
    return any(found == batch for found in reversed(member.disk.synced))
