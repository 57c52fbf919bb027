"""A whole quorum in one process on a virtual clock, every fault drawn from one seed (S1-S4, S8 of docs/reliability.md).

    world = World(seed); world.run()        raises Violation, and the seed tells the same story again

Faults come for a while: messages delayed, lost, doubled, overtaking each other; links cut one way or both; members
killed with a random part of their unsynced writes gone, paused, their disks emptied; leaders told to resign; voters
added and removed; snapshots taken. Then they stop, and the quorum must elect, commit and agree.
"""

import heapq
import random
from collections.abc import Callable
from typing import Any

from barnabas.core.raft import Endpoint, RaftNode, Voter, VoterSet
from barnabas.core.raft.effects import Done, Send
from barnabas.core.raft.events import (
    ConnectionLost,
    Event,
    Propose,
    RequestFailed,
    RequestReceived,
    ResponseReceived,
)
from barnabas.core.raft.messages import Request, Response
from barnabas.core.raft.roles import Leader
from barnabas.model.ids import ZERO_UUID
from tests.unit.raft.bytes_between import answer_through_codec, through_codec
from tests.unit.raft.faults import ALWAYS, FAULTS, add_voter, remove_voter
from tests.unit.raft.ledger import ANSWERS, ONE_COMMITTED_VALUE, PROGRESS, Ledger, Violation
from tests.unit.raft.member import Member, directory

TIMEOUTS = {
    "election_timeout_ms": 100,
    "election_backoff_max_ms": 100,
    "fetch_timeout_ms": 200,
    "request_timeout_ms": 150,
    "retry_backoff_ms": 10,
    "fetch_max_wait_ms": 60,
    "fetch_snapshot_max_bytes": 25,
    "discovery_backoff_ms": 40,
    "leader_lost_backoff_ms": 20,
}
ADMIN = -1  # who asks for voters to change


class World:
    def __init__(
        self, seed: int, node_class: type[RaftNode] = RaftNode, *, tell: bool = False, static: bool = False
    ) -> None:
        self.rng = rng = random.Random(seed)
        self.node_class = node_class
        self.tell = tell
        self.story: list[str] = []
        self.now_ms = 0
        self.timeouts: dict[str, Any] = TIMEOUTS
        self.ledger = Ledger()
        self.events: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._number = 0
        self.faults = True
        self.slow_disk = rng.random() < 0.5
        self.lossy = rng.choice([0.0, 0.0, 0.02, 0.1, 0.3])
        self.wire = rng.random() < 0.1
        self.eager = rng.choice([0.0, 0.0, 0.7])
        self.auto_join = rng.random() < 0.3 or static
        self.static = static  # voters from the settings: their disks are not known before they tell
        self.batches_a_fetch = rng.choice([1, 3, 100])
        self.cut: set[tuple[int, int]] = set()
        self.proposed = self.committed = self.steps = 0
        self.members: dict[int, Member] = {}
        count = rng.choice([1, 2, 3, 3, 3, 4, 5, 5])
        ids = range(1, count + 1 + rng.choice([0, 0, 1, 2]))
        self.initial = initial = VoterSet.of(
            Voter(number, ZERO_UUID if static else directory(number, 0), (self.endpoint_of(number),))
            for number in list(ids)[:count]
        )
        for number in ids:
            self.members[number] = Member(self, number, initial if number <= count else None)

    @staticmethod
    def endpoint_of(node_id: int) -> Endpoint:
        return Endpoint("CONTROLLER", "host", 1000 + node_id)

    # --- time ---------------------------------------------------------------------------------------------------------

    def at(self, when_ms: int, call: Callable[..., None], *args: Any) -> None:
        self._number += 1
        heapq.heappush(self.events, (when_ms, self._number, call, args))

    def run_until(self, end_ms: int) -> None:
        while self.events and self.events[0][0] <= end_ms:
            when_ms, _, call, args = heapq.heappop(self.events)
            self.now_ms = max(self.now_ms, when_ms)
            self.steps += 1
            call(*args)
        self.now_ms = end_ms

    def trace(self, member: Member, text: str) -> None:
        if self.tell:
            self.story.append(f"{self.now_ms:6} {member.name} {text}")

    # --- network ------------------------------------------------------------------------------------------------------

    def _deliver(self, source: int, target: int, call: Callable[..., None], *args: Any) -> None:
        if (source, target) in self.cut:
            return
        copies = 1
        if self.faults:
            chance = self.rng.random()
            copies = 0 if chance < self.lossy else 2 if chance > 0.95 else 1
        for _ in range(copies):
            delay = self.rng.randint(1, 8)
            if self.faults and self.rng.random() < 0.05:
                delay = self.rng.randint(20, 600)
            self.at(self.now_ms + delay, call, *args)

    def send_request(self, member: Member, sent: Send) -> None:
        target = self.members[sent.endpoint.port - 1000]
        if not target.up:
            # Refused at once, or found out later, or never.
            closed: list[Event] = [ConnectionLost(sent.node_id), RequestFailed(sent.node_id, sent.message)]
            self.at(self.now_ms + 2, self.event, member, member.restarts, self.rng.choice(closed))
            return
        # The answer is matched by the object that was sent, as a driver does it; on the wire go bytes.
        origin = (member, member.restarts, sent.node_id, sent.message)
        arriving = through_codec(sent.message) if self.wire else sent.message
        self._deliver(member.id, target.id, self._request, target, origin, arriving)

    def _request(self, target: Member, origin: Any, request: Request) -> None:
        if not target.up:
            return
        if target.paused_until > self.now_ms:
            self.at(target.paused_until, self._request, target, origin, request)
            return
        self._number += 1
        token = self._number
        target.open[token] = (origin, request)
        target.step(RequestReceived(request, token))

    def send_response(self, member: Member, origin: Any, request: Request, response: Response) -> None:
        if origin != ADMIN:
            target, incarnation, known_as, asked = origin
            event = ResponseReceived(
                known_as, asked, answer_through_codec(request, response) if self.wire else response
            )
            self._deliver(member.id, target.id, self.event, target, incarnation, event)

    def event(self, member: Member, incarnation: int, event: Event) -> None:
        if member.up and incarnation == member.restarts:
            if member.paused_until > self.now_ms:
                self.at(member.paused_until, self.event, member, incarnation, event)
            else:
                member.step(event)

    # --- what happens -------------------------------------------------------------------------------------------------

    def run(self, faults_ms: int = 3_000, quiet_ms: int = 4_000) -> None:
        for member in self.members.values():
            member.start()
        self.run_until(self.rng.randint(0, 600))
        end_ms = self.now_ms + faults_ms
        actions = list(ALWAYS)
        for fault in FAULTS:
            actions += [fault] * self.rng.choice([0, 1, 2, 4])
        while self.now_ms < end_ms:
            self.run_until(self.now_ms + self.rng.randint(1, 120))
            self.rng.choice(actions)(self)
        self.settle(quiet_ms)

    def settle(self, quiet_ms: int = 4_000) -> None:
        """Faults stop: the quorum has to come back (S8), and everybody to agree."""
        self.faults = self.slow_disk = False
        self.cut.clear()
        for member in self.members.values():
            if not member.up:
                member.start()
        if not self._can_elect():
            return
        end_ms, proposed = self.now_ms + quiet_ms, False
        problem: str | None = "nothing happened"
        while problem:
            if self.now_ms >= end_ms:
                raise Violation(PROGRESS, f"after {quiet_ms} ms without faults: {problem}")
            self.run_until(self.now_ms + 50)
            problem = self._disagreement()
            if problem is None and not proposed:
                proposed, before = True, self.committed
                leader = self.leader()
                assert leader is not None
                self.propose(leader)
                self.run_until(self.now_ms + 50)
                problem = self._disagreement()
                if self.committed != before + 1:
                    proposed, problem = False, "a proposal is not committed"
        for member in self.members.values():
            waiting = len(member.node.role.parked) if isinstance(member.node.role, Leader) else 0
            if len(member.open) > waiting + 1:
                raise Violation(ANSWERS, f"{member.name} owes {len(member.open)} answers")

    def _disagreement(self) -> str | None:
        leaders = [member for member in self.members.values() if isinstance(member.node.role, Leader)]
        if len(leaders) != 1:
            return f"{len(leaders)} leaders"
        leader = leaders[0]
        if not leader.node.voters.has(leader.key):
            return f"{leader.name} leads and is no voter"
        for member in self.members.values():
            if member.hw != leader.hw or member.hw != leader.disk.end_offset:
                return f"{member.name} is at {member.hw}, its leader at {leader.hw} of {leader.disk.end_offset}"
            if member.disk.all_batches() != leader.disk.all_batches():
                return f"{member.name} has another log than {leader.name}"
        return None

    def _can_elect(self) -> bool:
        """Not when emptied disks were the majority of a voter set that somebody may still go by."""
        keys = {member.key for member in self.members.values()}
        sets = [self.initial, *(batch.voters for batch, _ in self.ledger.batches.values() if batch.voters)]
        return all(sum(voter.key in keys for voter in voters.voters) >= voters.majority for voters in sets)

    def up(self) -> list[Member]:
        return [member for member in self.members.values() if member.up]

    def leader(self) -> Member | None:
        leaders = [member for member in self.up() if isinstance(member.node.role, Leader)]
        return self.rng.choice(leaders) if leaders else None

    def elected(self) -> None:
        """An operator who cannot wait: asks a leader that has committed nothing yet."""
        if self.faults and self.rng.random() < self.eager:
            self.at(self.now_ms + self.rng.randint(0, 3), self.rng.choice([add_voter, remove_voter]), self)

    def propose(self, member: Member) -> None:
        self.proposed += 1
        values = [f"{self.proposed}.{number}" for number in range(self.rng.randint(1, 3))]
        member.step(Propose(values, tuple(values)))

    def done(self, member: Member, done: Done) -> None:
        if done.error is not None:
            return
        self.committed += 1
        assert done.offset is not None
        batch = next((found for found in self.ledger.committed.values() if found.last_offset == done.offset), None)
        if batch is None or batch.values != done.token:
            raise Violation(ONE_COMMITTED_VALUE, f"{member.name} answers {done}, committed is {batch}")

    def ask_admin(self, request: Request) -> None:
        leader = self.leader()
        if leader is not None and leader.paused_until <= self.now_ms:
            self._request(leader, ADMIN, request)
