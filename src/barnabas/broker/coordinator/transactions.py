"""The transaction coordinators of this node: one for each partition of `__transaction_state` it leads.

What a coordinator's driver does is in driver.py. The topic asks for `flush.messages=1`, so "committed" means on
disk: nothing is answered, and no marker sent, before the decision would survive a power loss. Markers go to the leaders
of the partitions (coordinator/markers.py), and what became of them is reported back to the machine.

That a transaction is complete is news nobody waits for. Its record is held back for a moment and written with the next
one of its partition, which is mostly the beginning of the same producer's next transaction: one batch, one fetch of
each follower and one fsync on each node instead of two. A crash meanwhile finds the transaction decided, and sends its
markers once more.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from barnabas.broker.coordinator.driver import Coordinators, request_info
from barnabas.broker.coordinator.environment import CoordinatorEnvironment
from barnabas.broker.coordinator.groups import GroupDriver
from barnabas.broker.coordinator.markers import MarkerSender
from barnabas.broker.coordinator.producer_ids import ProducerIds
from barnabas.broker.coordinator.remote import BROKERS_VERSION, Codes, RemoteCoordinators
from barnabas.broker.coordinator.shard import CoordinatorShard
from barnabas.broker.image_bus import ImageChange
from barnabas.broker.network.context import RequestContext
from barnabas.broker.network.loop_budget import LoopBudget
from barnabas.broker.partition.partition import HostedPartition
from barnabas.broker.peers.table import Peers
from barnabas.core.cluster.image import NO_LEADER
from barnabas.core.coordinator.contract import B, Record, RequestInfo
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import TRANSACTION_TOPIC, TopicPartition
from barnabas.wire import messages
from barnabas.wire.apis import ADD_PARTITIONS_TO_TXN

if TYPE_CHECKING:
    from barnabas.core.txn.config import TxnConfig
    from barnabas.core.txn.effects import Effects as TxnEffects
    from barnabas.core.txn.effects import SendMarkers
    from barnabas.core.txn.shard import TxnShard
    from barnabas.wire.messages import AddPartitionsToTxnResponseBody, AddPartitionsToTxnTransaction, Request


_HELD_SECONDS = 0.02  # a record that nobody waits for is written after so long, if none comes that somebody waits for


@dataclasses.dataclass(frozen=True, slots=True)
class _Held:
    """Records of a partition that nobody waits for."""

    records: Sequence[Record]
    timer: asyncio.TimerHandle


class TxnDriver(Coordinators["TxnShard", "TxnEffects"]):
    topic = TRANSACTION_TOPIC
    machine_module = "barnabas.core.txn.shard"

    def __init__(
        self, environment: CoordinatorEnvironment, groups: GroupDriver, producer_ids: ProducerIds, peers: Peers
    ) -> None:
        super().__init__(environment)
        self._groups = groups
        self._producer_ids = producer_ids
        self._remote = RemoteCoordinators(peers)
        self.markers = MarkerSender(self._cluster, self._partitions, peers, groups)
        self._completions: dict[str, list[asyncio.Future[None]]] = {}  # by transactional id: who waits for its markers
        self._held: dict[CoordinatorShard[TxnShard], _Held] = {}

    def _make(self, partition: HostedPartition) -> TxnShard:
        from barnabas.core.txn.shard import TxnShard

        return TxnShard(
            self._config(),
            partition.leader_epoch,
            self._producer_ids.take_now,
            self._groups.index_of,
            self._clock.wall_of,
        )

    def _config(self) -> TxnConfig:
        from barnabas.broker.coordinator.settings import txn_config

        return txn_config(self._cluster.settings, self._cluster.image)

    async def ask_everywhere(self, request: Request[B], context: RequestContext) -> list[B]:
        """The same question to every coordinator of this node; only for questions that write nothing."""
        answers: list[B] = []
        budget = LoopBudget()
        for hosted in self.every():
            answer = self.ask_shard(hosted, request, request_info(context))
            if not isinstance(answer, asyncio.Future):
                answers.append(answer)
            await budget.pause()
        return answers

    def image_changed(self, change: ImageChange) -> None:
        if change.features_changed:
            for hosted in self._hosted.values():
                hosted.machine.update_config(self._config())

    # --- for the leaders of partitions (KIP-890) --------------------------------------------------------------------

    def ask_after_completion(
        self, transactional_id: str, request: Request[B], context: RequestContext
    ) -> B | asyncio.Future[B]:
        """As `ask`, for what begins a transaction: waits while the markers of the last one are written.

        EndTxn is answered before they are, so a client that goes on at once finds its id still busy. A wait that ends
        with the last marker is shorter than any backoff. It ends at the latest when that is longer ago than
        `add.partitions.to.txn.retry.backoff.max.ms`: markers that cannot be written hold up nobody else's request.
        """
        return self._after_completion(
            self.hosted_for(transactional_id), transactional_id, request, request_info(context)
        )

    def _after_completion(
        self, hosted: CoordinatorShard[TxnShard], transactional_id: str, request: Request[B], info: RequestInfo
    ) -> B | asyncio.Future[B]:
        since_ms = hosted.machine.completing_since(transactional_id)
        if since_ms is None:
            return self.ask_shard(hosted, request, info)
        most_ms = self._config().add_partitions_to_txn_retry_backoff_max_ms
        left_ms = since_ms + most_ms - self._clock.steady_ms()
        if left_ms <= 0:
            return self.ask_shard(hosted, request, info)
        completion = self._completion(transactional_id, left_ms / 1000)

        async def later() -> B:
            await completion
            answer = self.ask_shard(self.hosted_for(transactional_id), request, info)
            return await answer if isinstance(answer, asyncio.Future) else answer

        return asyncio.ensure_future(later())

    def _completion(self, transactional_id: str, seconds: float) -> asyncio.Future[None]:
        """Done when the last transaction of the id is complete, or after so long."""
        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[None] = loop.create_future()
        others = self._completions.setdefault(transactional_id, [])
        others.append(waiting)
        timer = loop.call_later(seconds, _let_go, waiting)

        def done(_: object) -> None:
            timer.cancel()
            others.remove(waiting)
            if not others and self._completions.get(transactional_id) is others:
                del self._completions[transactional_id]

        waiting.add_done_callback(done)
        return waiting

    async def enlist(
        self,
        transactional_id: str,
        producer: tuple[int, int],
        partitions: Iterable[TopicPartition],
        *,
        verify_only: bool,
    ) -> Codes:
        """Add partitions to the producer's transaction, or only ask whether they belong to it; here, or on the node
        that coordinates it. CONCURRENT_TRANSACTIONS is asked again a few times before the client hears of it.
        Gives what became of each partition."""
        topics: dict[str, list[int]] = {}
        for topic, index in partitions:
            topics.setdefault(topic, []).append(index)
        item = messages.AddPartitionsToTxnTransaction(
            transactional_id=transactional_id,
            producer_id=producer[0],
            producer_epoch=producer[1],
            verify_only=verify_only,
            topics=[messages.AddPartitionsToTxnTopic(name=name, partitions=found) for name, found in topics.items()],
        )
        config, began_ms = self._config(), self._clock.steady_ms()
        while True:
            codes = await self._enlist_once(item)
            waited_ms = self._clock.steady_ms() - began_ms
            concurrent = ErrorCode.CONCURRENT_TRANSACTIONS in codes.values()
            if not concurrent or waited_ms >= config.add_partitions_to_txn_retry_backoff_max_ms:
                return codes
            await asyncio.sleep(config.add_partitions_to_txn_retry_backoff_ms / 1000)

    async def _enlist_once(self, item: AddPartitionsToTxnTransaction) -> Codes:
        index = self.index_of(item.transactional_id)
        if self._partitions.get(self.topic, index) is not None:
            answer = self._enlist_here(self.at(index), item)
            return _codes(await answer if isinstance(answer, asyncio.Future) else answer)
        image = self._cluster.image.partition(self.topic, index)
        if image is None or image.leader in (NO_LEADER, self._cluster.node_id):
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "nobody coordinates this transaction just now")
        return await self._remote.enlist(image.leader, item)

    def _enlist_here(
        self, hosted: CoordinatorShard[TxnShard], item: AddPartitionsToTxnTransaction
    ) -> AddPartitionsToTxnResponseBody | asyncio.Future[AddPartitionsToTxnResponseBody]:
        request = messages.AddPartitionsToTxnRequest(transactions=[item])
        info = RequestInfo(ADD_PARTITIONS_TO_TXN, BROKERS_VERSION, "", "")
        return self._after_completion(hosted, item.transactional_id, request, info)

    # --- markers ----------------------------------------------------------------------------------------------------

    def drive(self, hosted: CoordinatorShard[TxnShard], effects: TxnEffects) -> None:
        held = self._held.pop(hosted, None)
        if held is not None:
            effects = dataclasses.replace(effects, records=[*held.records, *effects.records])
        if effects.replies or effects.markers or not self._is_current(hosted):
            if held is not None:
                held.timer.cancel()
            self._write(hosted, effects)
        else:
            if effects.records:
                later = held.timer if held is not None else self._later_write(hosted)
                self._held[hosted] = _Held(effects.records, later)
            self._set_timer(hosted)

    def _later_write(self, hosted: CoordinatorShard[TxnShard]) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(_HELD_SECONDS, self._write_held, hosted)

    def _write_held(self, hosted: CoordinatorShard[TxnShard]) -> None:
        held = self._held.pop(hosted)
        held.timer.cancel()
        from barnabas.core.txn.effects import Effects as TxnEffects  # there already: the machine has been made

        self._append(hosted, TxnEffects(records=held.records))

    def _write(self, hosted: CoordinatorShard[TxnShard], effects: TxnEffects) -> None:
        super().drive(hosted, effects)
        for sent in effects.markers:
            if self._is_current(hosted):
                hosted.opened.when_committed(hosted.appended_to, partial(self._send, hosted, sent))

    def _is_current(self, hosted: CoordinatorShard[TxnShard]) -> bool:
        return self._hosted.get(hosted.partition.id.partition) is hosted

    def _send(self, hosted: CoordinatorShard[TxnShard], sent: SendMarkers, code: ErrorCode) -> None:
        """The decision is safe (or lost with the leadership: then another coordinator finds what is left of it)."""
        if code is ErrorCode.NONE and self._is_current(hosted):
            self.markers.send(sent, hosted.partition.id.partition, partial(self._report, hosted, sent))

    def _report(
        self,
        hosted: CoordinatorShard[TxnShard],
        sent: SendMarkers,
        written: list[TopicPartition],
        failed: list[TopicPartition],
    ) -> None:
        if written and self._is_current(hosted):
            self.step(hosted, lambda now_ms: hosted.machine.markers_written(sent, written, now_ms))
            if hosted.machine.completing_since(sent.transactional_id) is None:
                for waiting in self._completions.get(sent.transactional_id, ()):
                    _let_go(waiting)
        if failed and self._is_current(hosted):
            self.step(hosted, lambda now_ms: hosted.machine.markers_failed(sent, failed, now_ms))

    def _drop_machine(self, hosted: CoordinatorShard[TxnShard], code: ErrorCode) -> None:
        held = self._held.pop(hosted, None)
        if held is not None:
            held.timer.cancel()  # whoever coordinates next finds the transaction decided, and ends it once more
        super()._drop_machine(hosted, code)

    def write_held(self) -> None:
        """Before a clean stop."""
        for hosted in list(self._held):
            self._write_held(hosted)

    def close(self) -> None:
        super().close()
        self.markers.close()
        self._remote.close()


def _let_go(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)


def _codes(answer: AddPartitionsToTxnResponseBody) -> Codes:
    return {
        TopicPartition(topic["name"], item["partition_index"]): ErrorCode(item["partition_error_code"])
        for result in answer["results_by_transaction"]
        for topic in result["topic_results"]
        for item in topic["results_by_partition"]
    }
