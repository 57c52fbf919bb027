"""Metadata (3), versions 0-13: who the brokers are, and who leads which partition.

v0 names every topic by an empty list, v1 and later by null. v4 lets the client forbid the creation of missing topics.
v8 adds the permitted operations (without access control: all of them), of the cluster in v8-10 only. v10 names topics
by id as well as by name, v12 asks by id. v13 adds an error for the whole answer.

The same question is asked by every client every few minutes, and by all of them at once after a change: the encoded
answer is kept until the image changes. A missing topic is created where both the client and
`auto.create.topics.enable` allow it, and answered at once (Kafka makes the client ask again).
"""

from collections.abc import Awaitable, Container, Iterable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from barnabas.broker.addresses import advertised
from barnabas.broker.api.operations import CLUSTER_OPERATIONS, NO_OPERATIONS, TOPIC_OPERATIONS
from barnabas.broker.context import RequestContext
from barnabas.core.cluster import (
    MetadataImage,
    NewTopic,
    PartitionImage,
    TopicImage,
    internal_topic,
)
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import INTERNAL_TOPICS, METADATA_TOPIC, ZERO_UUID, topic_name_problem
from barnabas.model.limits import METADATA_CACHE_MAX_BYTES
from barnabas.model.settings import ConfigSource
from barnabas.wire.apis import METADATA
from barnabas.wire.codec import encode_response

if TYPE_CHECKING:
    from barnabas.broker.node import Node


Body = dict[str, Any] | bytes


class _Answers:
    """Encoded answers of one image."""

    def __init__(self) -> None:
        self.image: MetadataImage | None = None
        self.bodies: dict[tuple[Any, ...], bytes] = {}
        self.size_bytes = 0

    def begin(self, image: MetadataImage) -> None:
        self.image, self.size_bytes = image, 0
        self.bodies.clear()

    def keep(self, key: tuple[Any, ...], body: bytes) -> None:
        if self.size_bytes + len(body) <= METADATA_CACHE_MAX_BYTES:
            self.bodies[key] = body
            self.size_bytes += len(body)


_answers: "WeakKeyDictionary[Node, _Answers]" = WeakKeyDictionary()


def handle(node: "Node", request: Any, context: RequestContext) -> "Body | Awaitable[Body]":
    if node.doubts:
        return _when_decided(node, request, context)
    return _answer(node, request, context)


async def _when_decided(node: "Node", request: Any, context: RequestContext) -> Body:
    """A broker has probably just died: who leads in its place is told, not that it leads (doubts.py)."""
    await node.doubts.over()
    answer = _answer(node, request, context)
    return await answer if isinstance(answer, Awaitable) else answer


def _answer(node: "Node", request: Any, context: RequestContext) -> "Body | Awaitable[Body]":
    version = context.api_version
    wanted = request.topics
    if wanted is None or (version == 0 and not wanted):
        return _encoded(node, context, request, None)
    if version < 12 and any(topic.name is None or topic.topic_id != ZERO_UUID for topic in wanted):
        return _refusal(wanted, ErrorCode.INVALID_REQUEST)
    if any(topic.name is None and topic.topic_id == ZERO_UUID for topic in wanted):
        return _refusal(wanted, ErrorCode.INVALID_REQUEST)
    if any(topic.topic_id != ZERO_UUID for topic in wanted):
        return _by_id(node, context, request)
    names = tuple(dict.fromkeys(topic.name for topic in wanted))
    if request.allow_auto_topic_creation and node.settings.bool("auto.create.topics.enable"):
        missing = [name for name in names if _may_create(node.image, name)]
        if missing:
            return _after_creating(node, context, request, names, missing)
    return _encoded(node, context, request, names)


def _may_create(image: MetadataImage, name: str) -> bool:
    return name not in image.topics and name != METADATA_TOPIC and topic_name_problem(name) is None


async def _after_creating(
    node: "Node", context: RequestContext, request: Any, names: tuple[str, ...], missing: list[str]
) -> bytes:
    # What was set for this broker, else what the controller has: the two may be processes with files of their own.
    partitions, factor = _set_here(node, "num.partitions"), _set_here(node, "default.replication.factor")
    topics = [
        internal_topic(name, node.settings, node.image)
        if name in INTERNAL_TOPICS
        else NewTopic(name, partitions, factor)
        for name in missing
    ]
    failed = await node.create_topics(topics)
    return _encoded(node, context, request, names, failed)


def _set_here(node: "Node", name: str) -> int:
    return -1 if node.settings.source(name) is ConfigSource.DEFAULT else node.settings.int(name)


def _encoded(
    node: "Node",
    context: RequestContext,
    request: Any,
    names: tuple[str, ...] | None,
    failed: dict[str, ErrorCode] | None = None,
) -> bytes:
    """The answer for these topics (None: all), from the cache when this image has been asked the same."""
    answers = _answers.get(node)
    if answers is None:
        answers = _answers[node] = _Answers()
    if answers.image is not node.image:
        answers.begin(node.image)
    with_topics, with_cluster = (
        request.include_topic_authorized_operations,
        request.include_cluster_authorized_operations,
    )
    listener = (context.listener_host, context.listener_port)
    key = (context.api_version, names, with_topics, with_cluster, *listener, node.farewells.ids)
    body = answers.bodies.get(key) if not failed else None
    if body is None:
        topics = topic_items(node.image, names, TOPIC_OPERATIONS if with_topics else NO_OPERATIONS, failed or {})
        body = encode_response(METADATA, context.api_version, _whole(node, context, topics, with_cluster))
        if not failed:
            answers.keep(key, body)
    return body


def _whole(node: "Node", context: RequestContext, topics: list[dict[str, Any]], with_cluster: bool) -> dict[str, Any]:
    return {
        "brokers": broker_items(node, context, "node_id", node.farewells.ids),
        "cluster_id": node.cluster_id,
        "controller_id": node.node_id,  # any broker will do: it hands on what is the controller's (KIP-590)
        "topics": topics,
        "cluster_authorized_operations": CLUSTER_OPERATIONS if with_cluster else NO_OPERATIONS,
    }


def broker_items(
    node: "Node", context: RequestContext, id_field: str, fenced: Container[int] = ()
) -> list[dict[str, Any]]:
    """Those that are alive, and of the others those that are named."""
    items = []
    for broker in sorted(node.image.brokers.values(), key=lambda broker: broker.broker_id):
        if broker.alive or broker.broker_id in fenced:
            host, port = advertised(node, broker.broker_id, context)
            items.append({id_field: broker.broker_id, "host": host, "port": port, "rack": broker.rack})
    return items


def topic_items(
    image: MetadataImage, names: Iterable[str] | None, operations: int, failed: dict[str, ErrorCode]
) -> list[dict[str, Any]]:
    """Known topics first, then unknown ones, then names no topic can have: Kafka's order."""
    known: list[dict[str, Any]] = []
    unknown: list[dict[str, Any]] = []
    invalid: list[dict[str, Any]] = []
    for name in image.topics if names is None else names:
        topic = image.topics.get(name)
        if topic is not None:
            known.append(topic_item(image, topic, operations))
        elif topic_name_problem(name):
            invalid.append(_missing(name, ErrorCode.INVALID_TOPIC_EXCEPTION))
        else:
            unknown.append(_missing(name, failed.get(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)))
    return known + unknown + invalid


def topic_item(image: MetadataImage, topic: TopicImage, operations: int) -> dict[str, Any]:
    return {
        "error_code": 0,
        "name": topic.name,
        "topic_id": topic.id,
        "is_internal": topic.name in INTERNAL_TOPICS,
        "partitions": [partition_item(image, index, part) for index, part in enumerate(topic.partitions)],
        "topic_authorized_operations": operations,
    }


def partition_item(image: MetadataImage, index: int, partition: PartitionImage) -> dict[str, Any]:
    leads = image.is_alive(partition.leader)
    return {
        "error_code": 0 if leads else int(ErrorCode.LEADER_NOT_AVAILABLE),
        "partition_index": index,
        "leader_id": partition.leader if leads else -1,
        "leader_epoch": partition.leader_epoch,
        "replica_nodes": partition.replicas,
        "isr_nodes": partition.isr,
        "offline_replicas": image.offline_replicas(partition),
    }


def _missing(name: str | None, code: ErrorCode, topic_id: bytes = ZERO_UUID) -> dict[str, Any]:
    return {
        "error_code": int(code),
        "name": name,
        "topic_id": topic_id,
        "is_internal": name in INTERNAL_TOPICS,
        "partitions": [],
        "topic_authorized_operations": NO_OPERATIONS,
    }


def _by_id(node: "Node", context: RequestContext, request: Any) -> dict[str, Any]:
    """Once one topic is asked for by id, only ids count (as in Kafka)."""
    operations = TOPIC_OPERATIONS if request.include_topic_authorized_operations else NO_OPERATIONS
    topics = []
    for topic_id in dict.fromkeys(topic.topic_id for topic in request.topics if topic.topic_id != ZERO_UUID):
        topic = node.image.topic_by_id(topic_id)
        if topic is None:
            topics.append(_missing(None, ErrorCode.UNKNOWN_TOPIC_ID, topic_id))
        else:
            topics.append(topic_item(node.image, topic, operations))
    return _whole(node, context, topics, request.include_cluster_authorized_operations)


def _refusal(wanted: Iterable[Any], code: ErrorCode) -> dict[str, Any]:
    topics = [_missing(topic.name or "", code, topic.topic_id) for topic in wanted]
    return {"brokers": [], "cluster_id": None, "controller_id": -1, "topics": topics}
