"""What all parts of the machine share: the epoch and the vote, the log, the role, and the moves from role to role.

Every move goes through `_enter`, every change of what must survive a crash through `_remember`: there an epoch that
falls, a second vote or a second leader in one epoch stops the node: a promise is broken already.
"""

from barnabas.core.raft.config import RaftConfig
from barnabas.core.raft.effects import Done, Effects, Flush, PersistentState, Reply, RoleChange, Send
from barnabas.core.raft.log import LogState, LogView
from barnabas.core.raft.messages import NO_LEADER, Request
from barnabas.core.raft.outbox import Outbox
from barnabas.core.raft.refusals import refusal
from barnabas.core.raft.requests import Requests
from barnabas.core.raft.roles import Candidate, Follower, Leader, LeaderAddress, Prospective, Resigned, Role, Unattached
from barnabas.core.raft.voters import Endpoint, ReplicaKey, VoterSet
from barnabas.core.randomness import Random
from barnabas.model.errors import ErrorCode


class QuorumBroken(AssertionError):
    """A state that no sequence of faults may lead to. The node must stop before it acts on it."""


class Quorum:
    def __init__(self, config: RaftConfig, state: PersistentState, view: LogView, rng: Random, now_ms: int) -> None:
        self.config = config
        self.local = config.key
        self.rng = rng
        self.now_ms = now_ms
        self.log = LogState(view)
        self.high_watermark = max(view.high_watermark, view.start.offset)
        self.requests = Requests()
        self.out = Outbox()
        self.deadline_ms: int | None = None
        self.lost_elections = 0
        self.was_voter = False  # in this life, and known by its disk: one that was removed then does not come back
        # A log of a later epoch than the file knows: the file's vote is of an epoch that is over.
        newer = self.log.last_epoch > state.epoch
        self.state = PersistentState(self.log.last_epoch, new=state.new) if newer else state
        self.as_new_as_we: set[int] = set()  # voters without a log, as far as we have heard, while we are new
        self.role: Role = self._first_role()

    # --- queries ------------------------------------------------------------------------------------------------------

    @property
    def epoch(self) -> int:
        return self.state.epoch

    @property
    def voters(self) -> VoterSet:
        return self.log.voters

    @property
    def is_voter(self) -> bool:
        return self.log.voters.has(self.local)

    @property
    def may_stand(self) -> bool:
        """A voter, or one whose removal is not known to be committed: it may have the only copy of the record that
        removes it, and then the others can elect nobody but it (Raft's dissertation, 4.2.2). Once elected, it commits
        that record and resigns. Pre-votes keep one that was removed long ago from disturbing."""
        if self.state.new:
            return False
        return self.is_voter or any(voters.has(self.local) for voters in self.log.voters_since(self.high_watermark))

    @property
    def leader_id(self) -> int:
        """The leader others may be sent to, -1 when we know of none."""
        match self.role:
            case Leader():
                return self.local.id
            case Follower(leader=leader) | Prospective(leader=LeaderAddress() as leader):
                return leader.id
        return NO_LEADER

    @property
    def leader_endpoint(self) -> Endpoint | None:
        match self.role:
            case Leader():
                return self.config.endpoints[0]
            case Follower(leader=leader) | Prospective(leader=LeaderAddress() as leader):
                return leader.endpoint
        return None

    # --- moves --------------------------------------------------------------------------------------------------------

    def unattach(self, epoch: int) -> None:
        """No leader is known in this epoch (or it is not to be reached any more)."""
        if epoch > self.epoch:
            self._remember(epoch, None, None)
        match self.role:
            case Unattached(election_deadline_ms=deadline) | Candidate(election_deadline_ms=deadline) if (
                deadline > self.now_ms
            ):
                pass  # its deadline stays: Vote requests of others must not postpone its own candidacy for ever
            case _:
                deadline = self.now_ms + self._patience_ms()
        self._enter(Unattached(deadline, self.now_ms))

    def follow(self, epoch: int, leader: LeaderAddress) -> None:
        if leader.id == self.local.id:
            raise QuorumBroken(f"told to follow ourselves in epoch {epoch}")
        self._remember(epoch, self.state.voted_for if epoch == self.epoch else None, leader.id)
        self.lost_elections = 0
        self._enter(Follower(leader, self.now_ms + self.config.fetch_timeout_ms))

    def become_prospective(self) -> None:
        leader = self.role.leader if isinstance(self.role, Follower) else None
        self._enter(Prospective(self.now_ms + self.election_timeout_ms(), leader, {self.local.id}))

    def become_candidate(self) -> None:
        self._remember(self.epoch + 1, self.local, None)
        self._enter(Candidate(self.now_ms + self.election_timeout_ms(), {self.local.id}))

    def lead(self, leader: Leader) -> None:
        self._remember(self.epoch, self.local, self.local.id)
        self.lost_elections = 0
        self.was_voter = True
        self._enter(leader)

    def resign(self, preferred: tuple[ReplicaKey, ...]) -> None:
        """Give up the epoch we lead; the voters are told by EndQuorumEpoch."""
        untold = {voter.id for voter in self.voters.others(self.local)}
        self._enter(Resigned(self.now_ms + self.election_timeout_ms(), preferred, untold))

    def grant_vote(self, candidate: ReplicaKey) -> None:
        if self.state.voted_for is None:
            self._remember(self.epoch, candidate, self.state.leader_id)
            if isinstance(self.role, Unattached):
                self.role.election_deadline_ms = self.now_ms + self.election_timeout_ms()  # give it time to win

    def _first_role(self) -> Role:
        leader_id = self.state.leader_id
        leader = self.voters.get(leader_id) if leader_id not in (None, self.local.id) else None
        if leader is not None:
            return Follower(LeaderAddress(leader.id, leader.address), self.now_ms + self.config.fetch_timeout_ms)
        # Also one that led this epoch: what it served and did not flush is gone, and it may not go on as if it were
        # there. It has voted for itself, so it votes for nobody in this epoch either.
        return Unattached(self.now_ms + self._first_patience_ms(), self.now_ms)

    def _remember(self, epoch: int, voted_for: ReplicaKey | None, leader_id: int | None) -> None:
        old, new = self.state, PersistentState(epoch, voted_for, leader_id, self.state.new)
        if new == old:
            return
        if epoch < old.epoch:
            raise QuorumBroken(f"epoch {epoch} after {old.epoch}")
        if epoch == old.epoch and (old.voted_for not in (None, voted_for) or old.leader_id not in (None, leader_id)):
            raise QuorumBroken(f"epoch {epoch} has {old}, now {new}")
        self.state = self.out.persist = new

    def no_longer_new(self) -> None:
        self.state = self.out.persist = PersistentState(self.epoch, self.state.voted_for, self.state.leader_id)
        self.as_new_as_we.clear()

    def _enter(self, role: Role) -> None:
        left, self.role = self.role, role
        self.requests.clear()
        self.out.role = True
        if isinstance(left, Leader):
            self._release(left)

    def _release(self, left: Leader) -> None:
        """Nobody waits at a node that no longer leads."""
        for parked in left.parked.values():
            self.refuse(parked.request, parked.token, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        for proposal in left.proposals:
            self.out.done.append(Done(proposal.token, None, ErrorCode.NOT_LEADER_OR_FOLLOWER))
        if left.change is not None and left.change.token is not None:
            self.refuse(left.change.request, left.change.token, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    # --- helpers ------------------------------------------------------------------------------------------------------

    def election_timeout_ms(self) -> int:
        base = self.config.election_timeout_ms
        return base + self.rng.randrange(base + 1)

    def _patience_ms(self) -> int:
        alone = len(self.voters) == 1 and self.is_voter  # nobody else could lead: a cluster of one starts at once
        return 0 if alone else self.election_timeout_ms()

    def _first_patience_ms(self) -> int:
        """After a start: a leader that is there is found within a round trip, and pre-votes disturb nobody."""
        if self._patience_ms() == 0:
            return 0
        short = self.config.leader_lost_backoff_ms
        return min(short + self.rng.randrange(3 * short + 1), self.config.election_timeout_ms)

    def wake_at(self, when_ms: int) -> None:
        if self.deadline_ms is None or when_ms < self.deadline_ms:
            self.deadline_ms = when_ms

    def send(self, node_id: int, endpoint: Endpoint, request: Request) -> None:
        deadline_ms = self.now_ms + self.config.request_timeout_ms
        self.requests.sent(node_id, request, deadline_ms)
        self.wake_at(deadline_ms)
        self.out.send.append(Send(node_id, endpoint, request))

    def ready(self, node_id: int, kind: type[Request]) -> bool:
        """May a request of this kind go there now? If not, the machine wakes up when it may."""
        when_ms = self.requests.ready_at(node_id, kind, self.now_ms)
        if when_ms > self.now_ms:
            self.wake_at(when_ms)
            return False
        return True

    def refuse(self, request: Request, token: object, code: ErrorCode, message: str | None = None) -> None:
        answer = refusal(request, code, message, self.leader_id, self.epoch, self.leader_endpoint)
        self.out.replies.append(Reply(token, answer))

    def flush(self) -> None:
        if self.log.flushed_offset < self.log.end_offset:
            self.out.flush = Flush(self.log.end_offset, self.log.generation)

    def advance(self, high_watermark: int) -> None:
        if high_watermark > self.high_watermark:
            self.high_watermark = self.out.committed = high_watermark

    def take_effects(self) -> Effects:
        change = None
        if self.out.role:
            start = self.role.epoch_start_offset if isinstance(self.role, Leader) else None
            leader_id = None if self.leader_id == NO_LEADER else self.leader_id
            change = RoleChange(self.role.name, self.epoch, leader_id, not self.is_voter, start)
        return self.out.take(change)
