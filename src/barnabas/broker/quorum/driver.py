"""Drives this node's member of the quorum: events in, effects carried out in the order core/raft/effects.py asks for.

What must survive a crash (an epoch, a vote) is written and flushed in a thread, and everything of that step and of
later ones waits behind it. The log is flushed in a thread too, one flush at a time, and the machine is given the
generation the flush began in. Committed records become the image, which the node publishes; a snapshot of it is
taken every so many records.

The controller follows changes of the leader (QuorumCallbacks); whoever proposes is answered when its records are
committed. A broken invariant of the quorum stops the node.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from random import Random
from typing import cast

from barnabas.broker.clock import wall_ms
from barnabas.broker.quorum.environment import QuorumCallbacks, QuorumIO
from barnabas.broker.quorum.leader_log import LeaderLog
from barnabas.broker.quorum.links import Links
from barnabas.broker.quorum.loading import LoadedQuorum
from barnabas.broker.quorum.metadata_log import MetadataLog
from barnabas.broker.quorum.reaching import where_reached
from barnabas.broker.quorum.replay import Replay
from barnabas.broker.quorum.serving import Serving
from barnabas.broker.quorum.snapshotting import Snapshotting
from barnabas.broker.quorum.state_file import write_state
from barnabas.core.cluster.image import MetadataImage
from barnabas.core.raft import Endpoint, PersistentState, RaftConfig, RaftNode
from barnabas.core.raft.effects import (
    AppendBatch,
    AppendFetched,
    Done,
    Effects,
    Flush,
    LogChange,
    ResetLog,
    RoleChange,
    Truncate,
)
from barnabas.core.raft.events import Event, LogFlushed, Propose, RequestReceived, Resign, Tick
from barnabas.core.raft.leader.view import QuorumView
from barnabas.core.raft.messages import Request, Response
from barnabas.core.raft.roles import Resigned
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.storage.directory import DirectoryError
from barnabas.storage.disk import FULL, PASSING

log = logging.getLogger(__name__)

_RESIGN_SECONDS = 0.5
_FULL_DISK_RETRY_SECONDS = 0.5  # while the disk is full


class QuorumDriver:
    def __init__(
        self,
        config: RaftConfig,
        metadata: MetadataLog,
        loaded: LoadedQuorum,
        io: QuorumIO,
        callbacks: QuorumCallbacks,
        steady_ms: Callable[[], int],
        random: Random,
    ) -> None:
        self._config = config
        self._log = metadata
        self._callbacks = callbacks
        self._steady_ms = steady_ms
        self._thread = io.log_thread
        self._disk, self._disk_space = io.disk, io.disk_space
        self.image, view, state = loaded  # the image: what is committed
        self.raft = RaftNode(config, state, view, random, steady_ms())
        self._links = Links(io.connector, self.step, config.request_timeout_ms + config.fetch_max_wait_ms)
        self._serving = Serving(metadata)
        self._queue: deque[Effects] = deque()
        self._waiting = False  # for the disk: a vote that is being written, or free space
        self._head_persisted = False  # of the first in the queue
        self._head_written = 0  # how many of its changes are in the log
        self._said_full = False
        self._leader_log = LeaderLog(config.node_id, self.why_no_leader)
        self._inside = False  # effects of a step are being carried out: what they bring about waits behind them
        self._flushing = False
        self._flush_wanted: Flush | None = None
        self._snapshots = Snapshotting(self, metadata, io)
        self.replay = Replay(metadata, self.image, view.end_offset, self._committed_image, self.stop_node)
        self._pending: deque[tuple[int, MetadataImage]] = deque()  # of our own proposals, by their last offset
        self._timer: asyncio.TimerHandle | None = None
        self._waiting_offsets: list[tuple[int, asyncio.Future[None]]] = []
        self.closed = False

    # --- events -------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        leader_id = self.leader[0]
        if leader_id >= 0:  # as the state on disk had it; the machine reports only changes
            voter = self.raft.voters.has(self._config.key)
            self._callbacks.role_changed(RoleChange(self.raft.role.name, self.raft.epoch, leader_id, not voter))
        self.step(Tick())

    def step(self, event: Event) -> None:
        if self.closed:
            return
        try:
            effects = self.raft.step(event, self._steady_ms())
            self._queue.append(effects)
            self._drain()
            self._set_timer()
        except DirectoryError as error:  # its text says all
            self.stop_node(error)
        except Exception as error:  # QuorumBroken, or a mistake of ours: nothing may follow from either
            log.exception("the quorum's machine")
            self.stop_node(error)

    def request(self, message: Request) -> "asyncio.Future[Response]":
        """A request of another node."""
        token: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self.step(RequestReceived(message, token))
        return token

    def propose(self, records: Sequence[object], image: MetadataImage, epoch: int) -> "asyncio.Future[int]":
        """Records for the log and the image they lead to (its offset is set here); done when they are committed."""
        token: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        end_offset = self.raft.log.end_offset
        pending = (end_offset + len(records) - 1, image)
        self._pending.append(pending)
        self.step(Propose(tuple(records), token, epoch))
        if self.raft.log.end_offset == end_offset and self._pending and self._pending[-1] is pending:
            self._pending.pop()  # refused
        return token

    async def resign(self) -> None:
        """Give up leading, and wait, briefly, until the voters know."""
        self.step(Resign())
        until = asyncio.get_running_loop().time() + _RESIGN_SECONDS
        while asyncio.get_running_loop().time() < until and not self.closed:
            role = self.raft.role
            if not isinstance(role, Resigned) or not role.untold:
                return
            await asyncio.sleep(0.005)

    # --- state ------------------------------------------------------------------------------------------------------

    @property
    def leader(self) -> tuple[int, Endpoint | None]:
        """The leader and where it is reached; -1 while none is known."""
        node_id, told = self.raft.leader
        return node_id, None if told is None else self._reached(node_id, told)

    def _reached(self, node_id: int, told: Endpoint) -> Endpoint:
        config = self._config
        if told.name in config.controller_listeners:
            return told  # the brokers' listeners do not serve the quorum
        return where_reached(self.image, node_id, told, config.endpoints[0].name, config.told_voters.get(node_id))

    @property
    def is_alone(self) -> bool:
        """A quorum of one."""
        return len(self.raft.voters) == 1 and self.raft.voters.get(self._config.node_id) is not None

    def why_no_leader(self) -> str:
        """One line for a person who waits."""
        voters = self.raft.voters.voters
        if not voters:
            places = ", ".join(f"{server.host}:{server.port}" for server in self._config.bootstrap_servers)
            return f"no answer yet from {places}"
        places = ", ".join(f"{voter.id} at {voter.address.host}:{voter.address.port}" for voter in voters)
        return f"a majority of {len(voters)} controllers must be up ({places})"

    @property
    def high_watermark(self) -> int:
        return self.raft.high_watermark

    @property
    def next_offset(self) -> int:
        return self.raft.log.end_offset

    def view(self) -> QuorumView:
        return self.raft.view(self._steady_ms())

    async def applied(self, offset: int, timeout_seconds: float) -> bool:
        """Wait until the image holds everything up to this offset."""
        if self.image.offset >= offset:
            return True
        reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = (offset, reached)
        self._waiting_offsets.append(waiting)
        try:
            await asyncio.wait_for(reached, timeout_seconds)
        except TimeoutError:
            return False
        finally:
            if waiting in self._waiting_offsets:
                self._waiting_offsets.remove(waiting)
        return True

    # --- effects, in order ------------------------------------------------------------------------------------------

    def _drain(self) -> None:
        if self._inside:
            return
        self._inside = True
        try:
            while self._queue and not self._waiting and not self.closed:
                effects = self._queue[0]
                if effects.persist is not None and not self._head_persisted:
                    self._persist(effects.persist)
                elif self._write_log(effects.log):
                    self._queue.popleft()
                    self._head_persisted, self._head_written = False, 0
                    self._carry_out(effects)
        finally:
            self._inside = False

    def _persist(self, state: PersistentState) -> None:
        self._waiting = True
        loop = asyncio.get_running_loop()
        work = loop.run_in_executor(self._thread, write_state, self._disk, self._log.folder, state)
        work.add_done_callback(self._persisted)

    def _persisted(self, done: "asyncio.Future[None]") -> None:
        if self.closed or done.cancelled():
            return
        error = done.exception()
        if error is None:
            self._head_persisted = True
            self._go_on()
        elif isinstance(error, OSError) and error.errno in PASSING:
            self._wait_for_space(error)
        else:
            self.stop_node(error)

    def _write_log(self, changes: Sequence[LogChange]) -> bool:
        """False when the disk is full: everything waits until it is not. The others elect another leader meanwhile."""
        while self._head_written < len(changes):
            try:
                self._write(changes[self._head_written])
            except OSError as error:
                if error.errno not in PASSING:
                    raise
                self._wait_for_space(error)
                return False
            self._head_written += 1
        return True

    def _wait_for_space(self, error: OSError) -> None:
        self._disk_space.failed(error)
        self._waiting = True
        asyncio.get_running_loop().call_later(self._retry_seconds(error.errno in FULL), self._go_on)

    def _retry_seconds(self, full: bool) -> float:
        """When to try again: at once with the space kept for the metadata log, else when there may be some again."""
        if full and self._disk_space.release_reserve():
            return 0.0
        if full and not self._said_full:
            self._said_full = True
            log.error("the metadata log cannot be written: this node waits for free space on its disk")
        return _FULL_DISK_RETRY_SECONDS

    def _go_on(self) -> None:
        self._waiting = False
        try:
            self._drain()
        except Exception as problem:  # as above: a member that may have gone wrong must not go on
            log.exception("the quorum's machine")
            self.stop_node(problem)

    def _carry_out(self, effects: Effects) -> None:
        if effects.flush is not None:
            self._flush_wanted = effects.flush
            self._flush()
        for sent in effects.send:
            self._links.send(sent._replace(endpoint=self._reached(sent.node_id, sent.endpoint)))
        for token, message in effects.replies:
            _answer(token, message)
        for read in effects.reads:
            _answer(read.token, self._serving.read(read))
        if effects.committed is not None:
            self._commit(effects.committed)
        if effects.role is not None:
            self._leader_log.role_changed(effects.role)
            if effects.role.role != "leader":
                self._pending.clear()
            self._callbacks.role_changed(effects.role)
        for done in effects.done:
            self._answer_proposer(done)
        if effects.snapshot_part is not None:
            self._snapshots.write_part(effects.snapshot_part)

    def _write(self, change: LogChange) -> None:
        match change:
            case AppendBatch():
                self._log.append(change, wall_ms())
            case AppendFetched():
                self._log.append_fetched(change)
            case Truncate(end_offset):
                self._log.truncate(end_offset)
                self.replay.at_start.truncated(end_offset)
            case ResetLog(snapshot_id):
                self.replay.before_reset(self.image)
                self._log.reset(snapshot_id)
                self.image = self._snapshots.fetched_image()

    def _answer_proposer(self, done: Done) -> None:
        token = cast("asyncio.Future[int | None]", done.token)  # `propose` made it
        if token.done():
            return
        if done.error is None:
            token.set_result(done.offset)
        elif done.error is ErrorCode.NOT_LEADER_OR_FOLLOWER:
            token.set_exception(KafkaError(ErrorCode.NOT_CONTROLLER, "another node is the active controller"))
        else:
            token.set_exception(KafkaError(done.error, "the metadata log does not take more at the moment"))

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        deadline_ms = self.raft.next_deadline_ms()
        if deadline_ms is not None and not self.closed:
            seconds = max(deadline_ms - self._steady_ms(), 0) / 1000 + 0.0005
            self._timer = asyncio.get_running_loop().call_later(seconds, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self.step(Tick())

    # --- the log on disk --------------------------------------------------------------------------------------------

    def _flush(self) -> None:
        if self._flushing or self._flush_wanted is None or self.closed:
            return
        wanted, self._flush_wanted = self._flush_wanted, None
        self._flushing = True
        work = asyncio.get_running_loop().run_in_executor(self._thread, self._log.log.flush)
        work.add_done_callback(lambda done: self._flushed(done, wanted))

    def _flushed(self, done: "asyncio.Future[int]", wanted: Flush) -> None:
        self._flushing, generation = False, wanted.generation
        if self.closed or done.cancelled():
            return
        if error := done.exception():
            self.stop_node(error)
            return
        # The flush counts what was in the log when it began; a truncation since then began another generation.
        end_offset = done.result()
        if generation == self.raft.log.generation:
            self._log.log.recovery_point = max(self._log.log.recovery_point, end_offset)
            if end_offset < wanted.end_offset and self._flush_wanted is None:  # no space for what a flush writes
                self._flush_wanted = wanted
                asyncio.get_running_loop().call_later(self._retry_seconds(True), self._flush)
                return
        self.step(LogFlushed(end_offset, generation))
        self._flush()

    # --- what is committed ------------------------------------------------------------------------------------------

    def _commit(self, high_watermark: int) -> None:
        image = self.image
        while self._pending and self._pending[0][0] < high_watermark:
            image = self._pending.popleft()[1]
        replayed = self.replay.up_to(high_watermark, image)
        if replayed is not None:
            self._committed_image(replayed)

    def _committed_image(self, image: MetadataImage) -> None:
        assert self.image.offset <= image.offset < self.raft.high_watermark, f"{image.offset} is not committed"
        self.image = image
        self._callbacks.publish(image)
        for waiting in [each for each in self._waiting_offsets if each[0] <= image.offset]:
            self._waiting_offsets.remove(waiting)
            _answer(waiting[1], None)
        self._snapshots.image_changed(image)

    # --- the end ----------------------------------------------------------------------------------------------------

    def stop_node(self, error: BaseException) -> None:
        """Nothing may follow from this."""
        self.close()
        self._callbacks.failed(error)

    def close(self) -> None:
        self.closed = True
        self._leader_log.close()
        self.replay.stop()
        self._links.close()
        if self._timer is not None:
            self._timer.cancel()
        for _, reached in self._waiting_offsets:
            reached.cancel()


def _answer(token: object, message: Response | None) -> None:
    asked = cast("asyncio.Future[Response | None]", token)  # the quorum gives back what the driver gave it
    if not asked.done():  # whoever asked may be gone
        asked.set_result(message)
