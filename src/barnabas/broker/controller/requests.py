"""What a broker asks of the active controller for itself: internal topics, topics made on demand, producer ids."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from barnabas.broker.roles import ConfiguredBroker
from barnabas.core.cluster.internal_topics import internal_topic
from barnabas.core.cluster.items import NewTopic
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.wire.apis import ALLOCATE_PRODUCER_IDS, CREATE_TOPICS
from barnabas.wire.codec import Decoded

if TYPE_CHECKING:
    from barnabas.wire.messages import AllocateProducerIdsResponse, CreateTopicsResponse

_TIMEOUT_MS = 30_000


class AskController(Protocol):
    async def __call__(
        self, api_key: int, version: int, body: Mapping[str, object], timeout_ms: int | None = None
    ) -> Decoded:
        """A request to the active controller, wherever it is; the answer decoded."""


class ControllerRequests:
    def __init__(self, broker: ConfiguredBroker, ask: AskController) -> None:
        self._broker = broker
        self._ask = ask

    async def create_internal_topic(self, name: str) -> None:
        """The topic that groups or transactions live in, made when the first client asks for a coordinator."""
        wanted = internal_topic(name, self._broker.settings, self._broker.image)
        await self.create_topics([wanted], KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, ""))

    async def create_topics(
        self, wanted: Sequence[NewTopic], refusal: KafkaError | None = None
    ) -> dict[str, ErrorCode]:
        """Those topics that the controller refused, with their codes. One that is there already is what was wanted.
        `refusal` is raised in place of giving codes."""
        body = {"topics": [_topic_body(topic) for topic in wanted], "timeout_ms": _TIMEOUT_MS, "validate_only": False}
        answer: CreateTopicsResponse = await self._ask(CREATE_TOPICS, 7, body)
        fine = (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
        failed = {t.name: ErrorCode(t.error_code) for t in answer.topics if t.error_code not in fine}
        if failed and refusal is not None:
            raise KafkaError(refusal.code, str(answer.topics[0].error_message or ""))
        return failed

    async def producer_id_block(self) -> range:
        body = {"broker_id": self._broker.node_id, "broker_epoch": self._broker.broker_epoch}
        answer: AllocateProducerIdsResponse = await self._ask(ALLOCATE_PRODUCER_IDS, 0, body)
        if answer.error_code:
            raise KafkaError(ErrorCode(answer.error_code), "no producer ids from the controller")
        return range(answer.producer_id_start, answer.producer_id_start + answer.producer_id_len)


def _topic_body(topic: NewTopic) -> dict[str, object]:
    return {
        "name": topic.name,
        "num_partitions": topic.num_partitions,
        "replication_factor": topic.replication_factor,
        "assignments": [{"partition_index": index, "broker_ids": list(ids)} for index, ids in topic.assignments],
        "configs": [{"name": name, "value": value} for name, value in topic.configs],
    }
