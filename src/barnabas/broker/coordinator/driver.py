"""Drives coordinators: machines that each live in one partition of an internal topic, on the node that leads it.

The machine decides; here its records are appended to its partition, its replies leave once those records are
committed, its timers are set, and a request that finds it not yet rebuilt from its log is told to come again.

    this node begins to lead the partition   the machine is rebuilt from the log, to its very end, in the background
    a request comes before that              a small log is replayed at once, else COORDINATOR_LOAD_IN_PROGRESS
    the leader epoch moves, or is lost       the machine is dropped; whoever waits is told NOT_COORDINATOR
    a record cannot be written               the machine has run ahead of its log: dropped, COORDINATOR_NOT_AVAILABLE
    the machine raises what is no KafkaError the same, said loudly: it is loaded from its log again, with back-off when
                                             it fails again; the request it failed on is told UNKNOWN_SERVER_ERROR

What a new leader finds at the end of its log may not be committed yet. It will be, if this leader lasts, so the machine
starts from it; but no reply leaves before it is (`appended_to`). While too few replicas are in sync nothing can be
written: requests that may write are refused before the machine sees them, and its timers wait.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Generic

from barnabas.broker.clock import wall_ms
from barnabas.broker.coordinator.batches import batches_of
from barnabas.broker.coordinator.environment import CoordinatorEnvironment
from barnabas.broker.coordinator.failures import ShardFailures
from barnabas.broker.coordinator.shard import CoordinatorShard, E, M, Waiting, release, release_all
from barnabas.broker.network.context import RequestContext
from barnabas.broker.partition.partition import HostedPartition
from barnabas.broker.partition.slow_openings import BeingOpened
from barnabas.core.coordinator.contract import B, Reply, RequestInfo
from barnabas.core.coordinator.java_hash import java_hash
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.storage.damage import Damaged
from barnabas.wire.apis import SERVED
from barnabas.wire.batch import BatchHeader
from barnabas.wire.errors import ProtocolError
from barnabas.wire.records import iter_records

if TYPE_CHECKING:
    from barnabas.wire.messages import Request

log = logging.getLogger(__name__)

_LOAD_AT_ONCE_BYTES = 256 * 1024  # 2,500 offsets, about 40 ms; a larger log is replayed in pieces, and clients wait
_LOAD_STEP_RECORDS = 2_000  # between steps the loop serves others
AGAIN_MS = 500  # until a machine that could not be loaded, or not write, is looked at again
_AFTER_BACKOFF_MS = 5  # a timer may fire a moment early; the shard would be found still waiting
_UNREADABLE = (KafkaError, Damaged, ProtocolError, OSError)


class Coordinators(ABC, Generic[M, E]):
    topic = ""
    machine_module = ""

    def __init__(self, environment: CoordinatorEnvironment) -> None:
        self._cluster, self._partitions, self._clock, self._import_threads, self._is_serving = environment
        self._hosted: dict[int, CoordinatorShard[M]] = {}
        self._loading: dict[int, asyncio.Task[None]] = {}
        self._asleep: deque[int] = deque()  # led, and not looked at yet
        self._waking: asyncio.Task[None] | None = None
        self._later: dict[int, asyncio.TimerHandle] = {}  # to be looked at again
        self._imported = self._import_threads is None
        self._importing: asyncio.Future[ModuleType] | None = None
        self.failures = ShardFailures()
        self._closed = False
        self._partitions.on_leadership(self.topic, self._leadership)

    @abstractmethod
    def _make(self, partition: HostedPartition) -> M:
        """The machine that lives in this partition, empty."""

    def prepared(self) -> asyncio.Future[ModuleType] | None:
        """The import of the machine, begun if need be: it takes too long for the loop. None: it is there."""
        if self._imported or self._closed:
            return None
        if self._importing is None:
            loop = asyncio.get_running_loop()
            self._importing = loop.run_in_executor(self._import_threads, import_module, self.machine_module)
            self._importing.add_done_callback(self._import_ended)
        return self._importing

    def _import_ended(self, done: asyncio.Future[ModuleType]) -> None:
        """An import that failed is tried again on the loop, where its error is told to whoever asked."""
        self._imported, self._importing = True, None
        if not done.cancelled():
            done.exception()

    # --- which machine ----------------------------------------------------------------------------------------------

    @property
    def partition_count(self) -> int:
        topic = self._cluster.image.topic(self.topic)
        return len(topic.partitions) if topic is not None else 0

    def index_of(self, key: str) -> int:
        """The partition that holds a group or a transactional id: Java's String.hashCode, as in Kafka."""
        count = self.partition_count
        if not count:
            raise KafkaError(ErrorCode.NOT_COORDINATOR, f"there is no {self.topic} yet")  # Kafka's code for it
        return java_hash(key) % count

    def hosted_for(self, key: str) -> CoordinatorShard[M]:
        return self.at(self.index_of(key))

    def at(self, index: int) -> CoordinatorShard[M]:
        """The machine of a partition, rebuilt if need be. Raises KafkaError when it is not ours, or not ready."""
        hosted = self._hosted.get(index)
        if hosted is not None:
            return hosted
        partition = self._partitions.get(self.topic, index)
        if partition is None:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        if index in self._loading:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        if self.failures.waits(index, self._clock.steady_ms()):
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{partition.id} failed and is loaded again soon")
        try:
            opened = partition.open()
            hosted = CoordinatorShard(opened, self._make(partition))
            if opened.log.size_bytes > _LOAD_AT_ONCE_BYTES:
                self._loading[index] = asyncio.ensure_future(self._load(index, hosted))
                raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
            for _ in self._replay(hosted):
                pass
        except BeingOpened:
            self._again(index)
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS) from None
        except _UNREADABLE as error:
            if isinstance(error, KafkaError) and error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                raise
            log.error("%s cannot be loaded: %s", partition.id, error)
            self._again(index)
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, str(error)) from error
        except Exception as error:  # a defect met while replaying: this shard is out of order, the others are not
            if hosted is not None:
                self._failed(hosted, error, loading=True)
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{partition.id} cannot be replayed") from error
        self._ready(index, hosted)
        if self._hosted.get(index) is not hosted:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)  # what it had to write could not be written
        return hosted

    def every(self) -> Iterator[CoordinatorShard[M]]:
        """All of this node's, those with nothing to say left out; each is rebuilt, if need be, when its turn comes."""
        for index in range(self.partition_count):
            partition = self._partitions.get(self.topic, index)
            if partition is not None and self._partitions.has_data(partition):
                yield self.at(index)

    def loaded(self) -> list[CoordinatorShard[M]]:
        """Those that are ready now; nothing is loaded for it."""
        return list(self._hosted.values())

    # --- coming and going with leadership ---------------------------------------------------------------------------

    def _leadership(self, partition: HostedPartition, leads: bool) -> None:
        """This node begins to lead a partition, perhaps anew in a later epoch, or does not lead it any more."""
        self._drop(partition.id.partition, ErrorCode.NOT_COORDINATOR)
        self.failures.forget(partition.id.partition)
        if leads and self._is_serving():
            self.prepared()  # the topic is new: the client that caused it comes next
            self._asleep.append(partition.id.partition)
            self._wake_up()

    def wake(self) -> None:
        """At start: rebuild what has a log, for its timers run whether or not a client comes."""
        self._asleep.extend(range(self.partition_count))
        self._wake_up()

    def _wake_up(self) -> None:
        if self._waking is None and not self._closed:
            self._waking = asyncio.ensure_future(self._wake_all())

    def _again(self, index: int, delay_ms: int = AGAIN_MS) -> None:
        """It could not be loaded, or not write: it is looked at once more, because its timers are owed to somebody."""
        if index not in self._later and not self._closed:
            self._later[index] = asyncio.get_running_loop().call_later(delay_ms / 1000, self._look_again, index)

    def _look_again(self, index: int) -> None:
        del self._later[index]
        self._asleep.append(index)
        self._wake_up()

    async def _wake_all(self) -> None:
        """One after the other, and others are served in between: a failed node may leave us many at once."""
        try:
            while self._asleep:
                index = self._asleep.popleft()
                partition = self._partitions.get(self.topic, index)
                if partition is not None and self._partitions.has_data(partition):
                    if (preparing := self.prepared()) is not None:
                        await asyncio.wait([preparing])
                    with suppress(KafkaError):  # said already
                        self.at(index)
                    await asyncio.sleep(0)
        finally:
            self._waking = None

    async def _load(self, index: int, hosted: CoordinatorShard[M]) -> None:
        try:
            for _ in self._replay(hosted):
                await asyncio.sleep(0)
            for _ in self._before_ready(hosted.machine):
                await asyncio.sleep(0)
            for _ in self._replay(hosted):  # what was written meanwhile
                await asyncio.sleep(0)
            if self._loading.get(index) is asyncio.current_task():
                self._ready(index, hosted)
        except _UNREADABLE as error:
            log.error("%s cannot be loaded: %s", hosted.partition.id, error)
            if isinstance(error, Damaged):
                hosted.partition.found_damaged(error)  # another replica may have it whole, and load it
            self._again(index)
        except Exception as error:  # as in `at`: only this shard is out of order
            self._failed(hosted, error, loading=True)
        finally:
            if self._loading.get(index) is asyncio.current_task():
                del self._loading[index]

    def _replay(self, hosted: CoordinatorShard[M]) -> Iterable[None]:
        """Feed the machine its log, a piece at a time, also what is written meanwhile (markers of transactions)."""
        partition_log = hosted.opened.log
        records = size_bytes = 0
        offset = max(hosted.replayed_to, partition_log.log_start_offset)
        while offset < (end_offset := partition_log.log_end_offset):
            for header, batch in partition_log.batches_from(offset):
                self._replay_batch(hosted.machine, header, batch)
                records, size_bytes = records + header.record_count, size_bytes + len(batch)
                if records >= _LOAD_STEP_RECORDS or size_bytes >= _LOAD_AT_ONCE_BYTES:
                    records = size_bytes = 0
                    yield
            hosted.replayed_to = offset = end_offset

    def _before_ready(self, machine: M) -> Iterable[None]:
        """What a machine has to do after a large replay and before `loaded`, in steps."""
        return ()

    def _replay_batch(self, machine: M, header: BatchHeader, batch: memoryview) -> None:
        if not header.is_control:
            for record in iter_records(batch):
                if record.key is not None:
                    machine.replay(record.key, record.value)

    def _ready(self, index: int, hosted: CoordinatorShard[M]) -> None:
        self._hosted[index] = hosted
        hosted.appended_to = hosted.opened.log.log_end_offset
        self.step(hosted, lambda now_ms: hosted.machine.loaded(now_ms))

    # --- requests and effects ---------------------------------------------------------------------------------------

    def check_writable(self, hosted: CoordinatorShard[M], api_key: int) -> None:
        """Too few replicas are in sync: the machine must not decide what cannot be written down."""
        if hosted.partition.leadership.under_min_isr and not SERVED[api_key].only_reads:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"too few replicas of {hosted.partition.id} in sync")

    def ask(self, key: str, request: Request[B], context: RequestContext) -> B | asyncio.Future[B]:
        """One request about one group or transactional id: its answer, or a future of it.

        Raises KafkaError when this node does not coordinate it.
        """
        return self.ask_shard(self.hosted_for(key), request, request_info(context))

    def ask_shard(self, hosted: CoordinatorShard[M], request: Request[B], info: RequestInfo) -> B | asyncio.Future[B]:
        self.check_writable(hosted, info.api_key)
        token: asyncio.Future[B] = asyncio.get_running_loop().create_future()
        hosted.waiting[token] = None
        token.add_done_callback(hosted.waiting.pop)
        self.step(hosted, lambda now_ms: hosted.machine.handle(request, info, now_ms, token), token)
        return token.result() if token.done() else token  # no task has to wait for an answer that is there already

    def step(self, hosted: CoordinatorShard[M], decide: Callable[[int], E], token: Waiting | None = None) -> None:
        """Let the machine decide and do what it decided: the only way to it, so that it cannot fail unseen.

        `decide` is given the time; `token` belongs to the request that it is about.
        """
        try:
            self.drive(hosted, decide(self._clock.steady_ms()))
        except Exception as error:  # the machine's memory and its log may differ now, whatever this was
            if token is not None and not token.done():
                token.set_exception(KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "the coordinator failed"))
            self._failed(hosted, error)

    def _failed(self, hosted: CoordinatorShard[M], error: Exception, *, loading: bool = False) -> None:
        index = hosted.partition.id.partition
        backoff_ms = self.failures.note(index, self._clock.steady_ms(), at_once=not loading)
        log.error(
            "coordinator of %s failed %s (%s: %s); it is dropped and loaded again from its log %s, %d failures since "
            "the start. The other partitions are not affected; please report this with the lines below",
            hosted.partition.id,
            "while loading" if loading else "on a request or timer",
            type(error).__name__,
            error,
            f"in {backoff_ms} ms" if backoff_ms else "at once",
            self.failures.total,
            exc_info=error,
        )
        self._drop_machine(hosted, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        self._again(index, backoff_ms + _AFTER_BACKOFF_MS)

    def drive(self, hosted: CoordinatorShard[M], effects: E) -> None:
        if effects.records and not self._append(hosted, effects):
            return
        later = []
        for reply in effects.replies:
            if reply.after_commit:
                later.append(reply)
            else:
                release(reply)
        if later:
            hosted.opened.when_committed(hosted.appended_to, lambda code: self._committed(hosted, later, code))
        self._set_timer(hosted)

    def _committed(self, hosted: CoordinatorShard[M], replies: Sequence[Reply], code: ErrorCode) -> None:
        if code is ErrorCode.NONE:
            release_all(replies)
        else:
            self._drop_machine(hosted, ErrorCode.NOT_COORDINATOR)  # its records may be gone

    def _append(self, hosted: CoordinatorShard[M], effects: E) -> bool:
        index = hosted.partition.id.partition
        if self._hosted.get(index) is not hosted:  # dropped: another one speaks for this partition now
            hosted.fail(ErrorCode.NOT_COORDINATOR)
            return False
        try:
            for part in batches_of(effects.records, hosted.partition.config.max_message_bytes):
                hosted.appended_to = hosted.opened.appends.append_records(part, wall_ms(), effects.transaction)
        except KafkaError as error:
            if error.code is not ErrorCode.NOT_LEADER_OR_FOLLOWER:
                log.error("%s could not be written: %s", hosted.partition.id, error.message)
                self._again(index)
            self._drop_machine(hosted, ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return False
        return True

    def _set_timer(self, hosted: CoordinatorShard[M]) -> None:
        due_ms = hosted.machine.next_deadline_ms()
        if due_ms == hosted.due_ms:
            return
        if hosted.timer is not None:
            hosted.timer.cancel()
            hosted.timer = None
        hosted.due_ms = due_ms
        if due_ms is not None:
            delay = max(0, due_ms - self._clock.steady_ms()) / 1000
            hosted.timer = asyncio.get_running_loop().call_later(delay, self._due, hosted)

    def _due(self, hosted: CoordinatorShard[M]) -> None:
        hosted.timer, hosted.due_ms = None, None
        if hosted.partition.leadership.under_min_isr:
            hosted.timer = asyncio.get_running_loop().call_later(AGAIN_MS / 1000, self._due, hosted)
            return
        self.step(hosted, lambda now_ms: hosted.machine.tick(now_ms))

    # --- leaving ----------------------------------------------------------------------------------------------------

    def _drop(self, index: int, code: ErrorCode) -> None:
        """Forget the machine of a partition, or what is loaded of it."""
        loading = self._loading.pop(index, None)
        if loading is not None:
            loading.cancel()
        hosted = self._hosted.get(index)
        if hosted is not None:
            self._drop_machine(hosted, code)

    def _drop_machine(self, hosted: CoordinatorShard[M], code: ErrorCode) -> None:
        """Whoever waits for it is told to find the coordinator again."""
        index = hosted.partition.id.partition
        if self._hosted.get(index) is hosted:
            del self._hosted[index]
        if hosted.timer is not None:
            hosted.timer.cancel()
            hosted.timer = None
        hosted.fail(code)

    def close(self) -> None:
        self._closed = True
        self._asleep.clear()
        if self._waking is not None:
            self._waking.cancel()
        for timer in self._later.values():
            timer.cancel()
        for index in [*self._hosted, *self._loading]:
            self._drop(index, ErrorCode.NOT_COORDINATOR)


def request_info(context: RequestContext) -> RequestInfo:
    return RequestInfo(context.api_key, context.api_version, context.client_id or "", context.session.client_host)
