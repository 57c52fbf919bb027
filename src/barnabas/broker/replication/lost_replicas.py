"""Replicas that lost records: the folder is missing, the log ends too early, a batch fails its CRC.

Such a replica must not lead, and must not count as in sync: it is reported to the controller (AssignReplicasToDirs with
the directory id that Kafka reserves for lost directories, KIP-858), which removes it from the in-sync replicas and
elects another leader. Then it fetches everything again. If no other replica can lead, this one leads with the records
that it still has.

A controller that cannot be reached is tried again with a backoff; that is logged once and is in the node's health. A
failure of one replica keeps that one out of service, and no other.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.broker.metrics.health import Health
from barnabas.broker.partition.partition import HostedPartition
from barnabas.broker.replication.environment import ReplicationHooks
from barnabas.broker.roles import RegisteredBroker
from barnabas.broker.upkeep.failures import WHOLE_NODE, describe, way_out
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import LOST_DIRECTORY
from barnabas.storage.disk import StorageFatal
from barnabas.wire.apis import ASSIGN_REPLICAS_TO_DIRS

if TYPE_CHECKING:
    from barnabas.wire.messages import AssignReplicasToDirsResponse

log = logging.getLogger(__name__)

TASK = "reporting lost replicas"
_AGAIN_SECONDS = 0.5  # at first; doubled each time
_LONGEST_SECONDS = 15.0
_ASKED_AGAIN_SECONDS = 5.0  # another replica may have come back meanwhile


class LostReplicas:
    """`follow_anew(partition)`: another replica leads it, and this one fetches from it."""

    def __init__(
        self,
        broker: RegisteredBroker,
        hooks: ReplicationHooks,
        health: Health,
        follow_anew: Callable[[HostedPartition], None],
    ) -> None:
        self._broker = broker
        self._hooks = hooks
        self._health = health
        self._follow_anew = follow_anew
        self._reported: dict[HostedPartition, None] = {}
        self._kept: dict[
            HostedPartition, float
        ] = {}  # no other replica could lead, and when the controller answered so
        self._failing: set[str] = set()
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
        log.error("%s: this replica has lost records: %s", partition.id, why)
        partition.lost = True
        self._hooks.partitions().recheck_leadership(partition)
        self._reported[partition] = None
        self._start()

    def _start(self) -> None:
        if self._task is None and self._reported:
            self._task = asyncio.ensure_future(self._report_all())
            self._task.add_done_callback(self._ended)

    async def report_missing(self) -> None:
        """At start, before this node is unfenced: replicas that had records and have no folder now."""
        partitions = self._hooks.partitions()
        for partition in [found for found in partitions if found.id in partitions.lost]:
            self._begin(partition, "its folder is gone")
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _report_all(self) -> None:
        wait = _AGAIN_SECONDS
        while self._reported:
            if await self._report_once(list(self._reported)):
                wait = _AGAIN_SECONDS
            else:
                await asyncio.sleep(wait)
                wait = min(wait * 2, _LONGEST_SECONDS)

    async def _report_once(self, asked: list[HostedPartition]) -> bool:
        """False when some of them have to be reported again."""
        try:
            codes = await self._ask(asked)
        except Exception as error:  # whatever it is: they stay reported, and the node serves its other partitions
            self._failed(WHOLE_NODE, error)
            return False
        self._recovered(WHOLE_NODE)
        well = True
        for partition in asked:
            subject = str(partition.id)
            try:
                self._reported_as(partition, codes.get((partition.topic_id, partition.id.partition), 0))
            except StorageFatal:
                raise
            except Exception as error:  # one partition's own: the others go on
                self._failed(subject, error)
                well = False
            else:
                self._reported.pop(partition, None)
                self._recovered(subject)
        return well

    async def _ask(self, asked: list[HostedPartition]) -> dict[tuple[bytes, int], int]:
        """The controller's error code for each of them. Raises when it cannot be reached."""
        topics: dict[bytes, list[dict[str, object]]] = {}
        for partition in asked:
            topics.setdefault(partition.topic_id, []).append({"partition_index": partition.id.partition})
        items = [{"topic_id": topic, "partitions": partitions} for topic, partitions in topics.items()]
        body = {
            "broker_id": self._broker.node_id,
            "broker_epoch": self._broker.broker_epoch,
            "directories": [{"id": LOST_DIRECTORY, "topics": items}],
        }
        answer: AssignReplicasToDirsResponse = await self._hooks.ask_controller(ASSIGN_REPLICAS_TO_DIRS, 0, body)
        if answer.error_code:
            raise KafkaError(ErrorCode(answer.error_code), "")
        return {
            (topic.topic_id, item.partition_index): item.error_code
            for directory in answer.directories
            for topic in directory.topics
            for item in topic.partitions
        }

    def _failed(self, subject: str, error: Exception) -> None:
        """Logged once, counted from then on."""
        way = way_out(error)
        if subject == WHOLE_NODE and isinstance(error, KafkaError | OSError):
            way = "Lost replicas stay out of service until a controller is active and can be reached."
        self._health.failed(TASK, subject, describe(error), way)
        if subject not in self._failing:
            self._failing.add(subject)
            expected = isinstance(error, KafkaError | OSError)
            text = "%s of %s failed and is tried again with a backoff: %s. %s"
            log.warning(text, TASK, subject, describe(error), way, exc_info=None if expected else error)

    def _recovered(self, subject: str) -> None:
        if subject in self._failing:
            self._failing.discard(subject)
            self._health.recovered(TASK, subject)
            log.warning("%s of %s works again", TASK, subject)

    def _reported_as(self, partition: HostedPartition, code: int) -> None:
        if partition.deleted:
            return
        if code == ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE:
            log.error("%s: no other replica can lead, so this one leads without what it lost", partition.id)
            partition.accept_loss()
            self._hooks.partitions().recheck_leadership(partition)
            self._kept[partition] = self._loop.time()
        else:
            self._follow_anew(partition)  # if it follows already: from the beginning

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._task = None
        if not task.cancelled() and (error := task.exception()) is not None:
            self._hooks.failed(error)
        elif not task.cancelled():
            self._start()

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
