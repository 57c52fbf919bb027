"""A replica that no longer holds what it stood for: its folder gone, its end cut off, bytes that fail their CRC.

It must not lead, and must not count as in sync: the controller is told (AssignReplicasToDirs with the directory id that
Kafka keeps for what is lost, KIP-858), takes it out and lets another one lead. Then its leader fills it again. If no
other replica could lead, what is left here is all there is, and is served as far as it is whole.
"""

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from barnabas.broker.partition import HostedPartition
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import LOST_DIRECTORY
from barnabas.wire.apis import ASSIGN_REPLICAS_TO_DIRS

if TYPE_CHECKING:
    from barnabas.broker.node import Node

log = logging.getLogger(__name__)

_AGAIN_SECONDS = 0.5
_ASKED_AGAIN_SECONDS = 5.0  # another replica may have come back meanwhile


class LostReplicas:
    def __init__(self, node: "Node") -> None:
        self._node = node
        self._reported: dict[HostedPartition, None] = {}
        self._kept: dict[HostedPartition, float] = {}  # nobody else could lead, and when we were told so
        self._task: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()

    def report(self, partition: HostedPartition, why: str) -> None:
        """From any thread: a recovery opens logs in several."""
        if len(partition.image.replicas) > 1:
            self._loop.call_soon_threadsafe(self._begin, partition, why)

    def _begin(self, partition: HostedPartition, why: str) -> None:
        recently = self._loop.time() - _ASKED_AGAIN_SECONDS
        if partition in self._reported or partition.deleted or self._kept.get(partition, recently) > recently:
            return
        self._kept.pop(partition, None)
        log.error("%s: this replica is not what it was: %s", partition.id, why)
        partition.lost = True
        self._node.partitions.replace(partition)
        self._reported[partition] = None
        self._start()

    def _start(self) -> None:
        if self._task is None and self._reported:
            self._task = asyncio.ensure_future(self._tell())
            self._task.add_done_callback(self._ended)

    async def tell_missing(self) -> None:
        """At start, before this node counts as being there: folders that held something are gone."""
        node = self._node
        for partition in [found for found in node.partitions if found.id in node.partitions.lost]:
            self._begin(partition, "its folder is gone")
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _tell(self) -> None:
        while self._reported:
            asked = dict(self._reported)
            node = self._node
            topics: dict[bytes, list[dict[str, Any]]] = {}
            for partition in asked:
                topics.setdefault(partition.topic_id, []).append({"partition_index": partition.id.partition})
            body = {
                "broker_id": node.node_id,
                "broker_epoch": node.broker_epoch,
                "directories": [
                    {
                        "id": LOST_DIRECTORY,
                        "topics": [{"topic_id": topic, "partitions": items} for topic, items in topics.items()],
                    }
                ],
            }
            try:
                answer = await node.controller.ask(ASSIGN_REPLICAS_TO_DIRS, 0, body)
                if answer.error_code:
                    raise KafkaError(ErrorCode(answer.error_code), "")
            except (KafkaError, OSError) as error:
                log.warning("the controller cannot be told of lost replicas: %s", error)
                await asyncio.sleep(_AGAIN_SECONDS)
                continue
            codes = {
                (topic.topic_id, item.partition_index): ErrorCode(item.error_code)
                for directory in answer.directories
                for topic in directory.topics
                for item in topic.partitions
            }
            for partition in asked:
                del self._reported[partition]
                self._told(partition, codes.get((partition.topic_id, partition.id.partition), ErrorCode.NONE))

    def _told(self, partition: HostedPartition, code: ErrorCode) -> None:
        if code is ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE:
            log.error("%s: no other replica can lead, so this one is all there is", partition.id)
            partition.accept_loss()
            self._node.partitions.replace(partition)
            self._kept[partition] = self._loop.time()
        else:
            self._node.replication.moved(partition)  # if it follows already: from the beginning

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._task = None
        if not task.cancelled() and (error := task.exception()) is not None:
            self._node.fail(error)
        elif not task.cancelled():
            self._start()

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
