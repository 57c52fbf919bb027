"""A quorum on a stage: nothing happens but what a scenario file says. Its words:

    voters 1 2 3 / observers 4 5         who there is; all start
    expire 2                             2's patience ends: its clock runs until its role changes (others' stand still)
    elect 2                              the same, and all that follows, without the details
    tick 2 500                           2's clock runs 500 ms
    deliver / deliver 2>1 / drop 2>1     every message on its way, until there is none; or those of one link
    cut 3 / heal                         what 3 says or is told gets lost
    propose 1 a b                        records for the log of 1
    batches 1                            a fetch brings one batch at a time
    slow 1 / flush 1                     1 flushes only when told to
    crash 1 / start 1                    what was not flushed is gone
    wipe 1                               the disk is gone, and a new one in its place
    closed 1                             all others see their connections to 1 close
    resign 1, snapshot 1                 1 gives up its epoch; takes a snapshot and drops the log before it
    add 4 / remove 2 / move 2 2002       asked of the leader: voters, and the address of one
    ask 2 vote 3 e2 0/1 [pre]            2 is asked for its vote by 3, in epoch 2, whose log ends at 0 with epoch 1
    status                               everybody in a line

Below each command, indented, stands what came of it. A message is shown when it arrives, `persist` before what follows.
"""

import random
from collections.abc import Callable
from typing import Any

from barnabas.core.raft import Endpoint, RaftNode, Voter, VoterSet
from barnabas.core.raft.effects import Done, Send
from barnabas.core.raft.events import ConnectionLost, Propose, RequestReceived, Resign, ResponseReceived, Tick
from barnabas.core.raft.messages import (
    AddRaftVoterRequest,
    RemoveRaftVoterRequest,
    Request,
    Response,
    UpdateRaftVoterRequest,
    VoteRequest,
)
from barnabas.core.raft.roles import Leader
from tests.unit.raft.actor import Actor
from tests.unit.raft.ledger import Ledger
from tests.unit.raft.member import Member, directory
from tests.unit.raft.words import message_words, value_words

ADMIN = "admin"


class Stage:
    static = False
    slow_disk = False
    auto_join = False
    batches_a_fetch = 100
    node_class = RaftNode

    def __init__(self) -> None:
        self.rng = random.Random(7)
        self.now_ms = 0
        self.timeouts: dict[str, Any] = {"retry_backoff_ms": 10, "fetch_snapshot_max_bytes": 25}
        self.ledger = Ledger()
        self.members: dict[int, Actor] = {}
        self.mail: list[tuple[int, int, str, Callable[[], None]]] = []
        self.chores: list[tuple[Callable[..., None], tuple[Any, ...]]] = []
        self.slow: dict[int, list[tuple[Callable[..., None], tuple[Any, ...]]]] = {}
        self.away: set[int] = set()
        self.said: list[str] = []
        self.tokens = 0

    def say(self, text: str) -> None:
        self.said.append(text)

    # --- what a Member asks of its world ------------------------------------------------------------------------------

    @staticmethod
    def endpoint_of(node_id: int) -> Endpoint:
        return Endpoint("CONTROLLER", "host", 1000 + node_id)

    def elected(self) -> None:
        pass

    def trace(self, member: Member, text: str) -> None:
        pass

    def at(self, when_ms: int, call: Callable[..., None], *args: Any) -> None:
        if call.__name__ == "_flushed" and call.__self__.id in self.slow:  # type: ignore[attr-defined]
            self.slow[call.__self__.id].append((call, args))  # type: ignore[attr-defined]
        elif call.__name__ != "_tick":
            self.chores.append((call, args))

    def send_request(self, member: Member, sent: Send) -> None:
        target = self.members[sent.endpoint.port % 1000]
        origin = (member, member.restarts, sent.node_id)
        self.mail.append(
            (member.id, target.id, message_words(sent.message), lambda: self._arrive(target, origin, sent.message))
        )

    def send_response(self, member: Member, origin: Any, request: Request, response: Response) -> None:
        if origin == ADMIN:
            self.say(f"answer {message_words(response)}")
            return
        target, incarnation, known_as = origin

        def arrive() -> None:
            if target.up and target.restarts == incarnation:
                target.step(ResponseReceived(known_as, request, response))

        self.mail.append((member.id, target.id, message_words(response), arrive))

    def _arrive(self, target: Member, origin: Any, request: Request) -> None:
        if target.up:
            self.tokens += 1
            target.open[self.tokens] = (origin, request)
            target.step(RequestReceived(request, self.tokens))

    def done(self, member: Member, done: Done) -> None:
        outcome = done.error.name if done.error is not None else f"at {done.offset}"
        self.say(f"{member.id} done {done.token} {outcome}")

    # --- the words ----------------------------------------------------------------------------------------------------

    def run(self, line: str) -> list[str]:
        word, *arguments = line.split()
        self.said = []
        getattr(self, f"do_{word}")(*arguments)
        self._do_chores()
        return self.said

    def _do_chores(self) -> None:
        while self.chores:
            call, args = self.chores.pop(0)
            call(*args)

    def do_voters(self, *ids: str) -> None:
        voters = VoterSet.of(Voter(int(i), directory(int(i), 0), (self.endpoint_of(int(i)),)) for i in ids)
        self._cast(ids, voters)

    def do_observers(self, *ids: str) -> None:
        self._cast(ids, None)

    def _cast(self, ids: tuple[str, ...], voters: VoterSet | None) -> None:
        for number in map(int, ids):
            self.members[number] = Actor(self, number, voters)  # type: ignore[arg-type]
            self.members[number].skew_ms = 0
        for number in map(int, ids):
            self.members[number].start()

    def do_expire(self, number: str) -> None:
        member = self.members[int(number)]
        role = member.node.role
        for _ in range(200):
            deadline = member.node.next_deadline_ms()
            assert deadline is not None
            self.mail = [item for item in self.mail if item[0] != member.id]  # what it said while it waited is lost
            member.skew_ms = deadline
            member.step(Tick())
            self._do_chores()
            if member.node.role is not role:
                break

    def do_elect(self, number: str) -> None:
        self.do_expire(number)
        self.do_deliver()
        node = self.members[int(number)].node
        self.said = [f"{number} {node.role.name} e{node.epoch} high watermark {node.high_watermark}"]

    def do_tick(self, number: str, ms: str) -> None:
        member = self.members[int(number)]
        member.skew_ms += int(ms)
        member.step(Tick())

    def do_deliver(self, link: str = "") -> None:
        for _ in range(1000):
            self._do_chores()
            found = next((item for item in self.mail if not link or link == f"{item[0]}>{item[1]}"), None)
            if found is None:
                return
            self.mail.remove(found)
            source, target, words, arrive = found
            lost = self.away & {source, target} or not self.members[target].up
            if not lost:
                self.say(f"{source}>{target} {words}")
                arrive()
        raise AssertionError("they never stop talking")

    def do_drop(self, link: str = "") -> None:
        self.mail = [item for item in self.mail if link and link != f"{item[0]}>{item[1]}"]

    def do_cut(self, *numbers: str) -> None:
        self.away |= set(map(int, numbers))

    def do_heal(self) -> None:
        self.away.clear()

    def do_propose(self, number: str, *values: str) -> None:
        self.members[int(number)].step(Propose(values, " ".join(values)))

    def do_batches(self, number: str) -> None:
        self.batches_a_fetch = int(number)

    def do_slow(self, number: str) -> None:
        self.slow[int(number)] = []

    def do_flush(self, number: str) -> None:
        self.chores += self.slow.pop(int(number))

    def do_crash(self, number: str) -> None:
        member = self.members[int(number)]
        member.up = False
        member.disk.unsynced.clear()
        member.disk.log = list(member.disk.synced)
        self.slow.pop(int(number), None)

    def do_wipe(self, number: str) -> None:
        self.members[int(number)].wipe()
        self.ledger.check_durable = False

    def do_start(self, number: str) -> None:
        self.members[int(number)].start()
        self.do_status(number)

    def do_closed(self, number: str) -> None:
        for member in self.members.values():
            if member.up and member.id != int(number):
                member.step(ConnectionLost(int(number)))

    def do_resign(self, number: str) -> None:
        self.members[int(number)].step(Resign())

    def do_snapshot(self, number: str) -> None:
        member = self.members[int(number)]
        member.take_snapshot()
        self.say(f"{number} log begins at {member.disk.start.offset}/{member.disk.start.epoch}")

    def do_add(self, number: str, directory_number: str = "0") -> None:
        key = directory(int(number), int(directory_number))
        request = AddRaftVoterRequest(
            cluster_id="cluster",
            timeout_ms=10_000,
            voter_id=int(number),
            voter_directory_id=key,
            listeners=(self.endpoint_of(int(number)),),
        )
        self._admin(request)

    def do_remove(self, number: str, directory_number: str = "0") -> None:
        key = directory(int(number), int(directory_number))
        self._admin(RemoveRaftVoterRequest(cluster_id="cluster", voter_id=int(number), voter_directory_id=key))

    def do_move(self, number: str, port: str) -> None:
        leader = self._leader()
        request = UpdateRaftVoterRequest(
            cluster_id="cluster",
            current_leader_epoch=leader.node.epoch,
            voter_id=int(number),
            voter_directory_id=directory(int(number), 0),
            listeners=(Endpoint("CONTROLLER", "host", int(port)),),
        )
        self._admin(request)

    def _leader(self) -> Actor:
        leaders = [member for member in self.members.values() if member.up and isinstance(member.node.role, Leader)]
        return max(leaders, key=lambda member: member.node.epoch, default=next(iter(self.members.values())))

    def _admin(self, request: Request) -> None:
        self._arrive(self._leader(), ADMIN, request)

    def do_ask(self, number: str, vote: str, candidate: str, epoch: str, end: str, pre: str = "") -> None:
        offset, last_epoch = map(int, end.split("/"))
        request = VoteRequest(
            cluster_id="cluster",
            voter_id=int(number),
            voter_directory_id=directory(int(number), 0),
            replica_epoch=int(epoch[1:]),
            replica_id=int(candidate),
            replica_directory_id=directory(int(candidate), 0),
            last_offset_epoch=last_epoch,
            last_offset=offset,
            pre_vote=pre == "pre",
        )
        self._arrive(self.members[int(number)], ADMIN, request)

    def do_status(self, *numbers: str) -> None:
        for member in self.members.values():
            if numbers and str(member.id) not in numbers:
                continue
            if not member.up:
                self.say(f"{member.id} down")
                continue
            node = member.node
            log = " ".join(
                f"{batch.base_offset}:e{batch.epoch}:{','.join(map(value_words, batch.values))}"
                for batch in member.disk.log
            )
            voters = ",".join(str(voter.id) for voter in node.voters.voters)
            self.say(
                f"{member.id} {node.role.name} e{node.epoch} voters={voters} "
                f"log={member.disk.start.offset}-{member.disk.end_offset} hw={node.high_watermark} [{log}]"
            )
