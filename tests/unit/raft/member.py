"""One member in the world: a RaftNode, its disk, and the driver between them that carries out effects in order.

Persisting may take a while; everything of later steps waits behind it, as effects.py asks.
"""

import random
from collections import deque
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from barnabas.core.raft import Endpoint, PersistentState, RaftConfig, RaftNode, ReplicaKey, VoterSet
from barnabas.core.raft.effects import (
    AppendBatch,
    AppendFetched,
    Effects,
    ResetLog,
    ServeFetch,
    ServeSnapshot,
    SnapshotPart,
    Truncate,
)
from barnabas.core.raft.events import Event, LogFlushed, SnapshotDownloaded, SnapshotTaken, Tick
from barnabas.core.raft.messages import FetchSnapshotResponse, Response, VoteRequest, VoteResponse
from barnabas.core.raft.roles import Leader
from barnabas.model.errors import ErrorCode
from tests.unit.raft.disk import Batch, Disk, Snapshot

if TYPE_CHECKING:
    from tests.unit.raft.world import World


class Member:
    def __init__(self, world: "World", node_id: int, initial_voters: VoterSet | None) -> None:
        self.world = world
        self.id = node_id
        self.name = f"n{node_id}"
        new = world.static and initial_voters is not None and len(initial_voters) > 1
        self.disk = Disk(directory(node_id, 0), initial_voters, PersistentState(new=new))
        self.disks = 1
        self.restarts = 0
        self.elected_in = self.elections_seen = -1
        self.skew_ms = world.rng.randrange(100_000)
        self.endpoint = Endpoint("CONTROLLER", "host", 1000 + node_id)
        self.up = False

    @property
    def key(self) -> ReplicaKey:
        return ReplicaKey(self.id, self.disk.directory_id)

    def start(self) -> None:
        self.up = True
        self.restarts += 1
        self.queue: deque[Effects] = deque()
        self.busy_until = -1
        self.paused_until = -1
        self.tick_at = -1
        self.open: dict[int, Any] = {}  # token -> (source, request)
        self.hw = self.disk.start.offset
        self.download: list[Any] = []
        config = RaftConfig(
            self.id,
            self.disk.directory_id,
            "cluster",
            (self.endpoint,),
            bootstrap_servers=tuple(
                self.world.endpoint_of(number) for number in self.world.members if number != self.id
            ),
            auto_join=self.world.auto_join,
            **self.world.timeouts,
        )
        rng = random.Random(self.world.rng.random())
        self.node = self.world.node_class(config, self.disk.state, self.disk.view(), rng, self.now())
        self.step(Tick())

    def crash(self) -> None:
        self.up = False
        self.disk.crash(self.world.rng)

    def wipe(self) -> None:
        """An empty disk, and so another replica under the same id."""
        static = self.world.initial if self.world.static and self.world.initial.get(self.id) else None
        self.disk = Disk(directory(self.id, self.disks), static, PersistentState(new=static is not None))
        self.disks += 1

    def now(self) -> int:
        return self.world.now_ms + self.skew_ms

    def step(self, event: Event) -> None:
        effects = self.node.step(event, self.now())
        self.queue.append(effects)
        if self.busy_until < 0:
            self._drain()
        deadline = self.node.next_deadline_ms()
        if deadline is not None:
            due = max(deadline - self.skew_ms, self.world.now_ms + 1)
            if self.tick_at < self.world.now_ms or due < self.tick_at:
                self.tick_at = due
                self.world.at(due, self._tick, self.restarts, due)

    def _tick(self, incarnation: int, due: int) -> None:
        if self.up and incarnation == self.restarts and due == self.tick_at:
            self.tick_at = -1
            self.step(Tick())

    # --- effects ------------------------------------------------------------------------------------------------------

    def _drain(self) -> None:
        while self.queue:
            effects = self.queue[0]
            if effects.persist is not None and self.world.slow_disk:
                self.busy_until = self.world.now_ms + self.world.rng.randint(1, 10)
                self.world.at(self.busy_until, self._persisted, self.restarts)
                return
            self.queue.popleft()
            if effects.persist is not None:
                self.disk.state = effects.persist
            self._carry_out(effects)

    def _persisted(self, incarnation: int) -> None:
        if self.up and incarnation == self.restarts:
            self.busy_until = -1
            effects = self.queue.popleft()
            assert effects.persist is not None
            self.disk.state = effects.persist
            self._carry_out(effects)
            self._drain()

    def _carry_out(self, effects: Effects) -> None:
        world, ledger = self.world, self.world.ledger
        for change in effects.log:
            self._write(change)
        if effects.flush is not None:
            delay = world.rng.choice([2, 10, 50, 300]) if world.slow_disk else 1
            world.at(world.now_ms + delay, self._flushed, self.restarts, effects.flush, self.disk.written)
        if effects.role is not None:
            ledger.became(self, effects.role)
            if effects.role.role == "leader":
                world.elected()
            world.trace(self, f"{effects.role.role} in epoch {effects.role.epoch}")
        if effects.committed is not None:
            ledger.committed_to(self, self.hw, effects.committed)
            if isinstance(self.node.role, Leader) and not self.queue:
                ledger.leader_commits(self, effects.committed, list(world.members.values()))
            self.hw = effects.committed
        for sent in effects.send:
            if isinstance(sent.message, VoteRequest):
                ledger.vote_asked(self, sent.message)
            world.send_request(self, sent)
        for token, message in effects.replies:
            self._reply(token, message)
        for read in effects.reads:
            self._reply(read.token, self._read(read))
        if effects.snapshot_part is not None:
            self._part(effects.snapshot_part)
        for done in effects.done:
            world.done(self, done)

    def _write(self, change: object) -> None:
        match change:
            case AppendBatch(base_offset, epoch, records, control):
                values = tuple(records) + tuple(control)
                voters = next((record for record in control if isinstance(record, VoterSet)), None)
                self._append(Batch(base_offset, base_offset + len(values) - 1, epoch, values, voters))
            case AppendFetched(batches, records):
                assert isinstance(records, tuple)
                for summary, batch in zip(batches, records, strict=False):
                    assert summary == batch.summary
                    self._append(batch)
            case Truncate(end_offset):
                self.disk.truncate(end_offset)
            case ResetLog(snapshot_id):
                self.disk.reset(self.world.ledger.snapshots[snapshot_id])

    def _append(self, batch: Batch) -> None:
        self.world.ledger.appended(self, batch, self.disk.last_epoch)
        self.disk.append(batch)

    def _flushed(self, incarnation: int, flush: Any, changes: int) -> None:
        if not self.up or incarnation != self.restarts:
            return
        self.disk.sync(changes)
        self.step(LogFlushed(*flush))

    def _reply(self, token: Any, message: Response) -> None:
        source, request = self.open.pop(token)  # KeyError: answered twice
        if isinstance(message, VoteResponse):
            self.world.ledger.vote_answered(self, request, message)
        self.world.send_response(self, source, request, message)

    def _read(self, read: ServeFetch | ServeSnapshot) -> Response:
        if isinstance(read, ServeFetch):
            batches = tuple(
                batch
                for batch in self.disk.log
                if batch.base_offset >= read.fetch_offset and batch.last_offset < read.end_offset
            )[: self.world.batches_a_fetch]
            return replace(read.response, batches=tuple(batch.summary for batch in batches), records=batches)
        snapshot = self.disk.snapshot
        answer = FetchSnapshotResponse(
            leader_id=read.leader_id, leader_epoch=read.leader_epoch, snapshot_id=read.snapshot_id
        )
        if snapshot is None or snapshot.id != read.snapshot_id:
            return replace(answer, error_code=ErrorCode.SNAPSHOT_NOT_FOUND)
        data = bytes(min(read.max_bytes, snapshot.size - read.position))
        return replace(answer, size=snapshot.size, position=read.position, unaligned_records=data)

    def _part(self, part: SnapshotPart) -> None:
        if part.position == 0:
            self.download = []
        assert sum(map(len, self.download)) == part.position
        self.download.append(part.data)
        if part.last:
            snapshot = self.world.ledger.snapshots[part.snapshot_id]
            assert sum(map(len, self.download)) == snapshot.size
            self.world.at(self.world.now_ms + 2, self._downloaded, self.restarts, snapshot)

    def _downloaded(self, incarnation: int, snapshot: Snapshot) -> None:
        if self.up and incarnation == self.restarts:
            self.step(SnapshotDownloaded(snapshot.id, snapshot.voters))

    def take_snapshot(self) -> None:
        if self.queue or self.hw <= self.disk.start.offset:
            return
        batches = tuple(batch for batch in self.disk.all_batches() if batch.last_offset < self.hw)
        id = type(self.disk.start)(batches[-1].last_offset + 1, batches[-1].epoch)
        snapshot = Snapshot(id, batches, self.disk.voters_at(id.offset))
        self.world.ledger.snapshot(snapshot)
        self.disk.trim(snapshot)
        self.step(SnapshotTaken(id, trimmed=True))


def directory(node_id: int, number: int) -> bytes:
    return bytes([0] * 13 + [1, node_id, number])


__all__ = ["Member", "RaftNode", "directory"]
