"""Proposes changes of the in-sync replicas to the controller (KIP-497), for the partitions led here, many a request.

A partition is checked when one of its followers may join or has lost its log, when brokers come and go, and every
half of `replica.lag.time.max.ms`. One AlterPartition is under way at a time; what becomes due meanwhile goes with the
next. core/partition/replicas.py decides whether a proposal is sent again, withdrawn or waited for.
"""

import asyncio
import logging
from itertools import islice
from typing import TYPE_CHECKING

from barnabas.broker.partition.host import ReplicaHost
from barnabas.broker.partition.partition import HostedPartition
from barnabas.broker.replication.environment import ReplicationHooks
from barnabas.broker.roles import RegisteredBroker
from barnabas.core.partition.replicas import IMAGE_WAIT_MS, IsrChange, LeaderState
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.wire.apis import ALTER_PARTITION

if TYPE_CHECKING:
    from barnabas.wire.messages import AlterPartitionResponse
    from barnabas.wire.messages import AlterPartitionResponsePartitionData as Altered

log = logging.getLogger(__name__)

_VERSION = 3
_AT_ONCE = 300  # partitions of a request: 15 ms of the loop here, 10 ms at the controller
_AGAIN_SECONDS = 0.1  # after an answer that decides nothing
_LOOK_AGAIN_SECONDS = IMAGE_WAIT_MS / 1000 + 0.1  # after one that waits for an image, should none come

Asked = dict[tuple[bytes, int], tuple[HostedPartition, LeaderState, IsrChange]]


class IsrKeeper:
    def __init__(self, broker: RegisteredBroker, host: ReplicaHost, hooks: ReplicationHooks) -> None:
        self._broker = broker
        self._host = host
        self._hooks = hooks
        self._due: dict[HostedPartition, None] = {}
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._stopped = False

    def start(self) -> None:
        self._stopped = False
        self._timer = asyncio.get_running_loop().call_later(self._interval(), self._check)

    def _interval(self) -> float:
        return self._host.max_lag_ms / 2000

    def _check(self) -> None:
        self.check_all()
        self.start()

    def check_all(self) -> None:
        for partition in self._hooks.partitions().led():
            if partition.leadership.state is not None:
                self.check(partition)

    def check(self, partition: HostedPartition) -> None:
        if self._stopped:
            return
        self._due[partition] = None
        self._begin()

    def _begin(self) -> None:
        if self._task is None and self._due:
            self._task = asyncio.ensure_future(self._run())
            self._task.add_done_callback(self._ended)

    async def _run(self) -> None:
        while self._due:
            asked = self._proposals()
            if asked and not await self._ask(asked):
                await asyncio.sleep(_AGAIN_SECONDS)
            else:
                await asyncio.sleep(0)

    def _proposals(self) -> Asked:
        host = self._host
        now_ms = host.steady_ms()
        asked: Asked = {}
        for partition in list(islice(self._due, _AT_ONCE)):
            del self._due[partition]
            state = partition.leadership.state
            if state is None:
                continue
            change = state.proposal(partition.leadership.end_offset, now_ms, host.max_lag_ms, host.last_fetches)
            if change is not None:
                asked[partition.topic_id, partition.id.partition] = (partition, state, change)
        return asked

    async def _ask(self, asked: Asked) -> bool:
        """False when something has to be asked again."""
        answer: AlterPartitionResponse | None
        try:
            said: AlterPartitionResponse = await self._hooks.ask_controller(
                ALTER_PARTITION, _VERSION, self._body(asked)
            )
            answer, code = said, ErrorCode(said.error_code)
        except (KafkaError, OSError) as error:
            log.info("the in-sync replicas could not be reported: %s", error)
            answer, code = None, ErrorCode.REQUEST_TIMED_OUT
        complete = True
        found: dict[tuple[bytes, int], Altered] = {}
        if answer is not None and code is ErrorCode.NONE:
            found = {
                (topic.topic_id, item.partition_index): item for topic in answer.topics for item in topic.partitions
            }
        for key, (partition, state, _) in asked.items():
            if partition.leadership.state is not state:
                continue  # another epoch has begun
            item = found.get(key)
            complete &= self._apply_answer(partition, state, item, code)
        return complete

    def _apply_answer(
        self,
        partition: HostedPartition,
        state: LeaderState,
        item: "Altered | None",
        code: ErrorCode,
    ) -> bool:
        if item is not None and item.error_code == ErrorCode.NONE:
            before = state.isr
            state.agreed(item.isr, item.leader_epoch, item.partition_epoch)
            if state.isr != before:
                log.info("%s: in-sync replicas are %s (were %s)", partition.id, sorted(state.isr), sorted(before))
            partition.leadership.isr_changed()
            return True
        if item is not None:
            code = ErrorCode(item.error_code)
        elif code is ErrorCode.NONE:
            code = ErrorCode.REQUEST_TIMED_OUT
        log.info("%s: the controller refuses the change of the in-sync replicas: %s", partition.id, code.name)
        if state.refused(code, self._host.steady_ms()):
            self._due[partition] = None
            return False
        if state.waits_for_image:
            asyncio.get_running_loop().call_later(_LOOK_AGAIN_SECONDS, self.check, partition)
        return True

    def _body(self, asked: Asked) -> dict[str, object]:
        own_id, own_epoch = self._broker.node_id, self._broker.broker_epoch
        topics: dict[bytes, list[dict[str, object]]] = {}
        for (topic_id, index), (_, _, change) in asked.items():
            isr = [
                {"broker_id": broker, "broker_epoch": own_epoch if broker == own_id else epoch}
                for broker, epoch in change.isr
            ]
            topics.setdefault(topic_id, []).append(
                {
                    "partition_index": index,
                    "leader_epoch": change.leader_epoch,
                    "new_isr_with_epochs": isr,
                    "leader_recovery_state": 0,
                    "partition_epoch": change.partition_epoch,
                }
            )
        return {
            "broker_id": own_id,
            "broker_epoch": own_epoch,
            "topics": [{"topic_id": topic_id, "partitions": items} for topic_id, items in topics.items()],
        }

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._task = None
        if task.cancelled():
            return
        if (error := task.exception()) is not None:
            self._hooks.failed(error)
        else:
            self._begin()  # what became due between the last check and the end of the task

    def stop(self) -> None:
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()
