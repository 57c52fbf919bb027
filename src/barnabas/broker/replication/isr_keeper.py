"""Tells the controller who is in sync (KIP-497): what the leaders on this node propose, many partitions a request.

A partition is looked at when one of its followers may join or has lost its log, when brokers come and go, and every
half of `replica.lag.time.max.ms`. One AlterPartition is under way at a time; what becomes due meanwhile goes with the
next. Whether a proposal is sent again, taken back or waited out is the machine's to say (core/partition/replicas.py).
"""

import asyncio
import logging
from itertools import islice
from typing import TYPE_CHECKING, Any

from barnabas.broker.partition.partition import HostedPartition
from barnabas.core.partition.replicas import IsrChange, LeaderState
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.wire.apis import ALTER_PARTITION

if TYPE_CHECKING:
    from barnabas.broker.node import Node

log = logging.getLogger(__name__)

_VERSION = 3
_AT_ONCE = 300  # partitions of a request: 15 ms of the loop here, 10 ms at the controller
_AGAIN_SECONDS = 0.1  # after an answer that settles nothing

Asked = dict[tuple[bytes, int], tuple[HostedPartition, LeaderState, IsrChange]]


class IsrKeeper:
    def __init__(self, node: "Node") -> None:
        self._node = node
        self._due: dict[HostedPartition, None] = {}
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._interval(), self._look)

    def _interval(self) -> float:
        return self._node.settings.int("replica.lag.time.max.ms") / 2000

    def _look(self) -> None:
        self.look_at_all()
        self.start()

    def look_at_all(self) -> None:
        for partition in self._node.partitions.led():
            if partition.replicas is not None:
                self.due(partition)

    def due(self, partition: HostedPartition) -> None:
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
        around = self._node.replication
        now_ms = around.steady_ms()
        asked: Asked = {}
        for partition in list(islice(self._due, _AT_ONCE)):
            del self._due[partition]
            state = partition.replicas
            if state is None:
                continue
            change = state.proposal(partition.end_offset, now_ms, around.max_lag_ms, around.heard)
            if change is not None:
                asked[partition.topic_id, partition.id.partition] = (partition, state, change)
        return asked

    async def _ask(self, asked: Asked) -> bool:
        """False when something has to be asked again."""
        try:
            answer = await self._node.controller.ask(ALTER_PARTITION, _VERSION, self._body(asked))
            code = ErrorCode(answer.error_code)
        except (KafkaError, OSError) as error:
            log.info("nobody to tell who is in sync: %s", error)
            answer, code = None, ErrorCode.REQUEST_TIMED_OUT
        settled = True
        found: dict[tuple[bytes, int], Any] = {}
        if answer is not None and code is ErrorCode.NONE:
            found = {
                (topic.topic_id, item.partition_index): item for topic in answer.topics for item in topic.partitions
            }
        for key, (partition, state, _) in asked.items():
            if partition.replicas is not state:
                continue  # another epoch has begun
            item = found.get(key)
            settled &= self._settle(partition, state, item, code)
        return settled

    def _settle(self, partition: HostedPartition, state: LeaderState, item: Any, code: ErrorCode) -> bool:
        if item is not None and item.error_code == ErrorCode.NONE:
            before = state.isr
            state.agreed(item.isr, item.leader_epoch, item.partition_epoch)
            if state.isr != before:
                log.info("%s: in sync are %s (were %s)", partition.id, sorted(state.isr), sorted(before))
            partition.isr_changed()
            return True
        if item is not None:
            code = ErrorCode(item.error_code)
        elif code is ErrorCode.NONE:
            code = ErrorCode.REQUEST_TIMED_OUT
        log.info("%s: the controller does not take who is in sync: %s", partition.id, code.name)
        if state.refused(code, self._node.replication.steady_ms()):
            self._due[partition] = None
            return False
        return True

    def _body(self, asked: Asked) -> dict[str, Any]:
        node = self._node
        topics: dict[bytes, list[dict[str, Any]]] = {}
        for (topic_id, index), (_, _, change) in asked.items():
            isr = [
                {"broker_id": broker, "broker_epoch": node.broker_epoch if broker == node.node_id else epoch}
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
            "broker_id": node.node_id,
            "broker_epoch": node.broker_epoch,
            "topics": [{"topic_id": topic_id, "partitions": items} for topic_id, items in topics.items()],
        }

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._task = None
        if task.cancelled():
            return
        if (error := task.exception()) is not None:
            self._node.fail(error)
        else:
            self._begin()  # what became due between the last look and the end of the task

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()
