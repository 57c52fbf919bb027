"""Metadata (3), versions 0-13: who the brokers are, and who leads which partition.

v0 names every topic by an empty list, v1 and later by null. v4 lets the client forbid the creation of missing topics.
v8 adds the permitted operations (without access control: all of them), of the cluster in v8-10 only. v10 names topics
by id as well as by name, v12 asks by id. v13 adds an error for the whole answer.

The same question is asked by every client every few minutes, and by all of them at once after a change: the encoded
answer is kept until the image changes. A missing topic is created where both the client and
`auto.create.topics.enable` allow it, and answered at once (Kafka makes the client ask again); of very many missing ones
the first METADATA_CREATES_MAX, the others are unknown until the client asks again.

Versions: 1 racks, the controller, internal topics, 2 the cluster id, 3 throttle time, 4 whether topics may be created,
5 offline replicas, 6 throttling by the client (KIP-219), 7 leader epochs (KIP-320), 8 authorized operations (KIP-430),
9 flexible, 10 topic ids (KIP-516), 11 no operations of the cluster, 12 topics asked for by id, 13 an error for the
whole answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from barnabas.broker.api.operations import CLUSTER_OPERATIONS, NO_OPERATIONS, TOPIC_OPERATIONS
from barnabas.broker.network.addresses import advertised
from barnabas.broker.network.context import Answered, RequestContext
from barnabas.broker.network.large_requests import encode
from barnabas.broker.network.loop_budget import in_turns
from barnabas.core.cluster import MetadataImage, NewTopic, PartitionImage, TopicImage, internal_topic
from barnabas.core.cluster.image import BrokerImage
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import INTERNAL_TOPICS, METADATA_TOPIC, ZERO_UUID, topic_name_problem
from barnabas.model.limits import METADATA_CACHE_MAX_BYTES, METADATA_CREATES_MAX
from barnabas.model.settings import ConfigSource
from barnabas.wire.apis import METADATA
from barnabas.wire.codec import encode_response

if TYPE_CHECKING:
    from barnabas.broker.api.roles import MetadataNode
    from barnabas.broker.network.addresses import ListeningNode
    from barnabas.broker.roles import CurrentSettings
    from barnabas.wire.messages import (
        MetadataRequest,
        MetadataRequestTopic,
        MetadataResponseBody,
        MetadataResponsePartitionBody,
        MetadataResponseTopicBody,
    )

    Body = MetadataResponseBody | bytes


_BY_ID_SINCE = 12
_TOPICS_AT_ONCE = 500  # answered without a pause, 10 us each
_PARTITIONS_AT_ONCE = 5_000  # the same, 2 us each
_NAME_BYTES = 64  # what a name in the key of a kept answer weighs beside its letters


# Version, names, with operations of topics and of the cluster, listener, brokers that departed recently.
Key = tuple[int, tuple[str, ...] | None, bool, bool, str, int, frozenset[int]]


class _Answers:
    """Encoded answers of one image."""

    def __init__(self) -> None:
        self.image: MetadataImage | None = None
        self.bodies: dict[Key, bytes] = {}
        self.pending: dict[Key, asyncio.Future[bytes]] = {}
        self.size_bytes = 0

    def begin(self, image: MetadataImage) -> None:
        self.image, self.size_bytes = image, 0
        self.bodies.clear()
        self.pending = {}

    def keep(self, key: Key, body: bytes) -> None:
        names = key[1] or ()
        size = len(body) + sum(_NAME_BYTES + len(name) for name in names)
        if self.size_bytes + size <= METADATA_CACHE_MAX_BYTES:
            self.bodies[key] = body
            self.size_bytes += size

    async def shared(self, key: Key, make: Callable[[], Awaitable[bytes]]) -> bytes:
        """A large answer: who asks the same while it is made gets the same."""
        image, begun = self.image, self.pending
        pending = begun.get(key)
        if pending is None:
            pending = begun[key] = asyncio.ensure_future(make())
            pending.add_done_callback(lambda _: begun.pop(key, None))
        body = await asyncio.shield(pending)
        if self.image is image and key not in self.bodies:
            self.keep(key, body)
        return body


_answers: WeakKeyDictionary[MetadataNode, _Answers] = WeakKeyDictionary()


def handle(node: MetadataNode, request: MetadataRequest, context: RequestContext) -> Answered[Body]:
    if node.suspected_brokers:
        return _when_decided(node, request, context)
    return _answer(node, request, context)


async def _when_decided(node: MetadataNode, request: MetadataRequest, context: RequestContext) -> Body:
    """A broker has probably just died: who leads in its place is told, not that it leads (suspected_brokers.py)."""
    await node.suspected_brokers.over()
    answer = _answer(node, request, context)
    return await answer if isinstance(answer, Awaitable) else answer


def _answer(node: MetadataNode, request: MetadataRequest, context: RequestContext) -> Answered[Body]:
    version = context.api_version
    wanted = request.topics
    if wanted is None or (version == 0 and not wanted):
        return _encoded(node, context, request, None)
    named: dict[str, None] = {}
    by_id = False
    for topic in wanted:
        if topic.topic_id != ZERO_UUID:
            by_id = True
        elif topic.name is None:
            return _refusal(node, context, wanted, ErrorCode.INVALID_REQUEST)
        else:
            named[topic.name] = None
    if by_id and version < _BY_ID_SINCE:
        return _refusal(node, context, wanted, ErrorCode.INVALID_REQUEST)
    if by_id:
        return _by_id(node, context, request, wanted)
    names = tuple(named)
    if request.allow_auto_topic_creation and node.settings.bool("auto.create.topics.enable"):
        missing = list(islice((name for name in names if _may_create(node.image, name)), METADATA_CREATES_MAX))
        if missing:
            return _after_creating(node, context, request, names, missing)
    return _encoded(node, context, request, names)


def _may_create(image: MetadataImage, name: str) -> bool:
    return name not in image.topics and name != METADATA_TOPIC and topic_name_problem(name) is None


async def _after_creating(
    node: MetadataNode, context: RequestContext, request: MetadataRequest, names: tuple[str, ...], missing: list[str]
) -> bytes:
    # What was set for this broker, else what the controller has: the two may be processes with files of their own.
    partitions, factor = _set_here(node, "num.partitions"), _set_here(node, "default.replication.factor")
    topics = [
        internal_topic(name, node.settings, node.image)
        if name in INTERNAL_TOPICS
        else NewTopic(name, partitions, factor)
        for name in missing
    ]
    failed = await node.controller_requests.create_topics(topics)
    body = _encoded(node, context, request, names, failed)
    return await body if isinstance(body, Awaitable) else body


def _set_here(node: CurrentSettings, name: str) -> int:
    return -1 if node.settings.source(name) is ConfigSource.DEFAULT else node.settings.int(name)


def _encoded(
    node: MetadataNode,
    context: RequestContext,
    request: MetadataRequest,
    names: tuple[str, ...] | None,
    failed: dict[str, ErrorCode] | None = None,
) -> bytes | Awaitable[bytes]:
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
    listener = (context.session.listener_host, context.session.listener_port)
    key = (context.api_version, names, with_topics, with_cluster, *listener, node.recently_departed.ids)
    body = answers.bodies.get(key) if not failed else None
    if body is not None:
        return body
    operations = TOPIC_OPERATIONS if with_topics else NO_OPERATIONS
    if _is_much(node.image, names):
        if failed:
            return _in_turns(node, context, names, operations, with_cluster, failed)
        return answers.shared(key, lambda: _in_turns(node, context, names, operations, with_cluster, {}))
    topics = topic_items(node.image, names, operations, failed or {})
    body = encode_response(METADATA, context.api_version, _whole(node, context, topics, with_cluster))
    if not failed:
        answers.keep(key, body)
    return body


def _is_much(image: MetadataImage, names: tuple[str, ...] | None) -> bool:
    """Would others have to wait while this is answered?"""
    if len(image.topics if names is None else names) > _TOPICS_AT_ONCE:
        return True
    topics = image.topics.values() if names is None else filter(None, map(image.topics.get, names))
    return sum(len(topic.partitions) for topic in topics) > _PARTITIONS_AT_ONCE


async def _in_turns(
    node: MetadataNode,
    context: RequestContext,
    names: tuple[str, ...] | None,
    operations: int,
    with_cluster: bool,
    failed: dict[str, ErrorCode],
) -> bytes:
    image = node.image
    found = await in_turns(image.topics if names is None else names, partial(_told, image, operations, failed))
    found.sort(key=itemgetter(0))
    body = _whole(node, context, [item for _, item in found], with_cluster)
    return await encode(node.read_threads, body, context)


def _whole(
    node: MetadataNode, context: RequestContext, topics: list[MetadataResponseTopicBody], with_cluster: bool
) -> MetadataResponseBody:
    return {
        "brokers": [
            {"node_id": broker.broker_id, "host": host, "port": port, "rack": broker.rack}
            for broker, host, port in told_brokers(node, context, node.recently_departed.ids)
        ],
        "cluster_id": node.cluster_id,
        "controller_id": node.node_id,  # any broker will do: it hands on what is the controller's (KIP-590)
        "topics": topics,
        "cluster_authorized_operations": CLUSTER_OPERATIONS if with_cluster else NO_OPERATIONS,
    }


def told_brokers(
    node: ListeningNode, context: RequestContext, fenced: Container[int] = ()
) -> Iterator[tuple[BrokerImage, str, int]]:
    """Those that are alive, and of the others those that are named; each with its host and port for this client."""
    for broker in sorted(node.image.brokers.values(), key=lambda broker: broker.broker_id):
        if broker.alive or broker.broker_id in fenced:
            yield broker, *advertised(node, broker.broker_id, context)


def topic_items(
    image: MetadataImage, names: Iterable[str] | None, operations: int, failed: dict[str, ErrorCode]
) -> list[MetadataResponseTopicBody]:
    found = [_told(image, operations, failed, name) for name in (image.topics if names is None else names)]
    found.sort(key=itemgetter(0))
    return [item for _, item in found]


def _told(
    image: MetadataImage, operations: int, failed: dict[str, ErrorCode], name: str
) -> tuple[int, MetadataResponseTopicBody]:
    """A topic and its place: known ones first, then unknown ones, then names no topic can have. Kafka's order."""
    topic = image.topics.get(name)
    if topic is not None:
        return 0, topic_item(image, topic, operations)
    if topic_name_problem(name):
        return 2, _missing(name, ErrorCode.INVALID_TOPIC_EXCEPTION)
    return 1, _missing(name, failed.get(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))


def topic_item(image: MetadataImage, topic: TopicImage, operations: int) -> MetadataResponseTopicBody:
    return {
        "error_code": 0,
        "name": topic.name,
        "topic_id": topic.id,
        "is_internal": topic.name in INTERNAL_TOPICS,
        "partitions": [partition_item(image, index, part) for index, part in enumerate(topic.partitions)],
        "topic_authorized_operations": operations,
    }


def partition_item(image: MetadataImage, index: int, partition: PartitionImage) -> MetadataResponsePartitionBody:
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


def _missing(name: str | None, code: ErrorCode, topic_id: bytes = ZERO_UUID) -> MetadataResponseTopicBody:
    return {
        "error_code": int(code),
        "name": name,
        "topic_id": topic_id,
        "is_internal": name in INTERNAL_TOPICS,
        "partitions": [],
        "topic_authorized_operations": NO_OPERATIONS,
    }


def _by_id(
    node: MetadataNode, context: RequestContext, request: MetadataRequest, wanted: Sequence[MetadataRequestTopic]
) -> Answered[Body]:
    """Once one topic is asked for by id, only ids count (as in Kafka)."""
    operations = TOPIC_OPERATIONS if request.include_topic_authorized_operations else NO_OPERATIONS
    ids = list(dict.fromkeys(topic.topic_id for topic in wanted if topic.topic_id != ZERO_UUID))
    told = partial(_told_by_id, node.image, operations)
    with_cluster = request.include_cluster_authorized_operations
    if len(ids) > _TOPICS_AT_ONCE:
        return _by_id_in_turns(node, context, ids, told, with_cluster)
    return _whole(node, context, [told(topic_id) for topic_id in ids], with_cluster)


async def _by_id_in_turns(
    node: MetadataNode,
    context: RequestContext,
    ids: list[bytes],
    told: Callable[[bytes], MetadataResponseTopicBody],
    with_cluster: bool,
) -> Body:
    body = _whole(node, context, await in_turns(ids, told), with_cluster)
    return await encode(node.read_threads, body, context)


def _told_by_id(image: MetadataImage, operations: int, topic_id: bytes) -> MetadataResponseTopicBody:
    topic = image.topic_by_id(topic_id)
    if topic is None:
        return _missing(None, ErrorCode.UNKNOWN_TOPIC_ID, topic_id)
    return topic_item(image, topic, operations)


async def _refusal(
    node: MetadataNode, context: RequestContext, wanted: Sequence[MetadataRequestTopic], code: ErrorCode
) -> Body:
    topics = await in_turns(wanted, lambda topic: _missing(topic.name or "", code, topic.topic_id))
    body: MetadataResponseBody = {"brokers": [], "cluster_id": None, "controller_id": -1, "topics": topics}
    return body if len(topics) <= _TOPICS_AT_ONCE else await encode(node.read_threads, body, context)
