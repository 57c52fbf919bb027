"""What a broker asks of the active controller for itself: internal topics, topics made on demand, producer ids."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from barnabas.core.cluster.internal_topics import internal_topic
from barnabas.core.cluster.items import NewTopic
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.wire.apis import ALLOCATE_PRODUCER_IDS, CREATE_TOPICS

if TYPE_CHECKING:
    from barnabas.broker.node import Node

_TIMEOUT_MS = 30_000


class ControllerRequests:
    def __init__(self, node: "Node") -> None:
        self._node = node

    async def create_internal_topic(self, name: str) -> None:
        """The topic that groups or transactions live in, made when the first client asks for a coordinator."""
        wanted = internal_topic(name, self._node.settings, self._node.image)
        await self.create_topics([wanted], KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, ""))

    async def create_topics(
        self, wanted: Sequence[NewTopic], refusal: KafkaError | None = None
    ) -> dict[str, ErrorCode]:
        """Those topics that the controller refused, with their codes. One that is there already is what was wanted.
        `refusal` is raised in place of giving codes."""
        body = {"topics": [_topic_body(topic) for topic in wanted], "timeout_ms": _TIMEOUT_MS, "validate_only": False}
        answer = await self._node.controller.ask(CREATE_TOPICS, 7, body)
        fine = (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
        failed = {t.name: ErrorCode(t.error_code) for t in answer.topics if t.error_code not in fine}
        if failed and refusal is not None:
            raise KafkaError(refusal.code, str(answer.topics[0].error_message or ""))
        return failed

    async def producer_id_block(self) -> range:
        body = {"broker_id": self._node.node_id, "broker_epoch": self._node.broker_epoch}
        answer = await self._node.controller.ask(ALLOCATE_PRODUCER_IDS, 0, body)
        if answer.error_code:
            raise KafkaError(ErrorCode(answer.error_code), "no producer ids from the controller")
        return range(answer.producer_id_start, answer.producer_id_start + answer.producer_id_len)


def _topic_body(topic: NewTopic) -> dict[str, Any]:
    return {
        "name": topic.name,
        "num_partitions": topic.num_partitions,
        "replication_factor": topic.replication_factor,
        "assignments": [{"partition_index": index, "broker_ids": list(ids)} for index, ids in topic.assignments],
        "configs": [{"name": name, "value": value} for name, value in topic.configs],
    }
