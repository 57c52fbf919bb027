"""Metadata (3), versions 0-13: who the brokers are, and who leads which partition.

v0 names every topic by an empty list, v1 and later by null. v4 lets the client forbid the creation of missing topics.
v8 adds the permitted operations, of the cluster in v8-10 only. v10 names topics
by id as well as by name, v12 asks by id. v13 adds an error for the whole answer.

Topics that whoever asks may not describe are left out, or refused where they were named: whether they exist is not
told. Creating a missing one takes CREATE on the cluster or on the topic.

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

from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, cast
from weakref import WeakKeyDictionary

from barnabas.broker.api.metadata_cache import Answers
from barnabas.broker.api.permissions import (
    CREATE,
    DESCRIBE,
    NO_OPERATIONS,
    TOPIC,
    cluster_operations,
    may,
    may_on_cluster,
    operations,
    sees,
)
from barnabas.broker.network.addresses import advertised
from barnabas.broker.network.context import Answered, RequestContext
from barnabas.broker.network.large_requests import encode
from barnabas.broker.network.loop_budget import LoopBudget, in_turns
from barnabas.core.cluster import MetadataImage, NewTopic, PartitionImage, TopicImage, internal_topic
from barnabas.core.cluster.image import BrokerImage
from barnabas.model.access import AclResourceType
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import INTERNAL_TOPICS, METADATA_TOPIC, ZERO_UUID, topic_name_problem
from barnabas.model.limits import METADATA_CREATES_MAX
from barnabas.model.settings import ConfigSource
from barnabas.wire.apis import METADATA
from barnabas.wire.codec import encode_response

if TYPE_CHECKING:
    from barnabas.broker.api.roles import BrokersNode, MetadataEncoder, MetadataNode, ReadThreads, TopicCreator
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
_REFUSED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_TOPICS_AT_ONCE = 500  # answered without a pause, 10 us each
_PARTITIONS_AT_ONCE = 5_000  # the same, 2 us each

_answers: WeakKeyDictionary[MetadataEncoder, Answers] = WeakKeyDictionary()


def handle(node: MetadataNode, request: MetadataRequest, context: RequestContext) -> Answered[Body]:
    connection = context.session.connection
    if connection is not None and node.lifecycle.sends_away(connection.last_active - connection.opened_at):
        connection.close_when_sent()
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
        if node.access is not None and not node.access.passes(context.session):
            return _all_seen(node, context, request)
        return _encoded(node, context, request, None)
    by_name = [topic.name for topic in wanted if topic.topic_id == ZERO_UUID]
    named, by_id = dict.fromkeys(by_name), len(by_name) < len(wanted)
    if None in named or (by_id and version < _BY_ID_SINCE):
        return _refusal(node, context, wanted, ErrorCode.INVALID_REQUEST)
    if by_id:
        return _by_id(node, context, request, wanted)
    names = cast("tuple[str, ...]", tuple(named))
    if len(names) > _TOPICS_AT_ONCE:
        return _named_in_turns(node, context, request, names)
    failed = _refused_among(node, context, request, names)
    if missing := list(islice(_to_create(node, request, names, failed), METADATA_CREATES_MAX)):
        return _after_creating(node, context, request, names, missing, failed)
    return _encoded(node, context, request, names, failed)


async def _named_in_turns(
    node: MetadataNode, context: RequestContext, request: MetadataRequest, names: tuple[str, ...]
) -> Body:
    """So many names that deciding about them, and telling the audit trail, would hold the loop."""
    failed, missing, budget = dict[str, ErrorCode](), list[str](), LoopBudget()
    for at in range(0, len(names), _TOPICS_AT_ONCE):
        some = names[at : at + _TOPICS_AT_ONCE]
        failed |= _refused_among(node, context, request, some)
        missing += islice(_to_create(node, request, some, failed), METADATA_CREATES_MAX - len(missing))
        await budget.pause()
    return await _after_creating(node, context, request, names, missing, failed)


def _refused_among(
    node: MetadataNode, context: RequestContext, request: MetadataRequest, names: Sequence[str]
) -> dict[str, ErrorCode]:
    """Those that whoever asks may not describe, or not create where they are missing."""
    if node.access is None:
        return {}
    failed = {name: _REFUSED for name in names if not may(node, context, DESCRIBE, TOPIC, name)}
    creates = request.allow_auto_topic_creation and node.settings.bool("auto.create.topics.enable")
    if creates and not may_on_cluster(node, context, CREATE):
        absent = [name for name in names if name not in failed and name not in node.image.topics]
        failed |= {name: _REFUSED for name in absent if not may(node, context, CREATE, TOPIC, name)}
    return failed


def _to_create(
    node: MetadataNode, request: MetadataRequest, names: Iterable[str], failed: Mapping[str, ErrorCode]
) -> Iterator[str]:
    if request.allow_auto_topic_creation and node.settings.bool("auto.create.topics.enable"):
        yield from (name for name in names if name not in failed and _may_create(node.image, name))


async def _all_seen(node: MetadataNode, context: RequestContext, request: MetadataRequest) -> bytes:
    """All topics that whoever asks may describe."""
    names, budget = [], LoopBudget()
    for name in list(node.image.topics):
        if sees(node, context, DESCRIBE, TOPIC, name):
            names.append(name)
        await budget.pause()
    all_of_them = len(names) == len(node.image.topics)
    body = _encoded(node, context, request, None if all_of_them else tuple(names))
    return await body if isinstance(body, Awaitable) else body


def _may_create(image: MetadataImage, name: str) -> bool:
    return name not in image.topics and name != METADATA_TOPIC and topic_name_problem(name) is None


async def _after_creating(
    node: MetadataNode,
    context: RequestContext,
    request: MetadataRequest,
    names: tuple[str, ...],
    missing: list[str],
    refused: dict[str, ErrorCode],
) -> bytes:
    failed = await _create(node, missing) if missing else {}
    if missing and node.audit is not None:
        node.audit.created(context, missing, failed)
    body = _encoded(node, context, request, names, failed | refused)
    return await body if isinstance(body, Awaitable) else body


async def _create(node: TopicCreator, missing: list[str]) -> dict[str, ErrorCode]:
    """Those that could not be created, with the reason."""
    # What was set for this broker, else what the controller has: the two may be processes with files of their own.
    partitions, factor = _set_here(node, "num.partitions"), _set_here(node, "default.replication.factor")
    topics = [
        internal_topic(name, node.settings, node.image)
        if name in INTERNAL_TOPICS
        else NewTopic(name, partitions, factor)
        for name in missing
    ]
    return await node.controller_requests.create_topics(topics)


def _set_here(node: CurrentSettings, name: str) -> int:
    return -1 if node.settings.source(name) is ConfigSource.DEFAULT else node.settings.int(name)


def _encoded(
    node: MetadataEncoder,
    context: RequestContext,
    request: MetadataRequest,
    names: tuple[str, ...] | None,
    failed: dict[str, ErrorCode] | None = None,
) -> bytes | Awaitable[bytes]:
    """The answer for these topics (None: all), from the cache when this image has been asked the same."""
    answers = _answers.get(node)
    if answers is None:
        answers = _answers[node] = Answers()
    image = node.lifecycle.told_image
    if answers.image is not image:
        answers.begin(image)
    with_topics = request.include_topic_authorized_operations
    with_cluster = request.include_cluster_authorized_operations
    listener = (context.session.listener_host, context.session.listener_port)
    departed = node.recently_departed.named_to(context.session)
    key = (context.api_version, names, with_topics, with_cluster, *listener, departed)
    # With an authorizer the operations are whoever's who asks.
    is_shared = not failed and (node.access is None or not (with_topics or with_cluster))
    if is_shared and (body := answers.bodies.get(key)) is not None:
        return body
    allowed = partial(operations, node, context, AclResourceType.TOPIC) if with_topics else _not_asked
    if _is_much(image, names):
        if not is_shared:
            return _in_turns(node, context, image, names, allowed, with_cluster, failed or {})
        return answers.shared(key, lambda: _in_turns(node, context, image, names, allowed, with_cluster, {}))
    topics = topic_items(image, names, allowed, failed or {})
    body = encode_response(METADATA, context.api_version, _whole(node, context, topics, with_cluster))
    if is_shared:
        answers.keep(key, body)
    return body


Operations = Callable[[str], int]


def _not_asked(name: str) -> int:
    return NO_OPERATIONS


def _is_much(image: MetadataImage, names: tuple[str, ...] | None) -> bool:
    """Would others have to wait while this is answered?"""
    if len(image.topics if names is None else names) > _TOPICS_AT_ONCE:
        return True
    topics = image.topics.values() if names is None else filter(None, map(image.topics.get, names))
    return sum(len(topic.partitions) for topic in topics) > _PARTITIONS_AT_ONCE


async def _in_turns(
    node: MetadataEncoder,
    context: RequestContext,
    image: MetadataImage,
    names: tuple[str, ...] | None,
    allowed: Operations,
    with_cluster: bool,
    failed: dict[str, ErrorCode],
) -> bytes:
    found = await in_turns(image.topics if names is None else names, partial(_told, image, allowed, failed))
    found.sort(key=itemgetter(0))
    body = _whole(node, context, [item for _, item in found], with_cluster)
    return await encode(node.read_threads, body, context)


def _whole(
    node: BrokersNode, context: RequestContext, topics: list[MetadataResponseTopicBody], with_cluster: bool
) -> MetadataResponseBody:
    return {
        "brokers": [
            {"node_id": broker.broker_id, "host": host, "port": port, "rack": broker.rack}
            for broker, host, port in told_brokers(node, context, node.recently_departed.named_to(context.session))
        ],
        "cluster_id": node.cluster_id,
        "controller_id": node.node_id,  # any broker will do: it hands on what is the controller's (KIP-590)
        "topics": topics,
        "cluster_authorized_operations": cluster_operations(node, context) if with_cluster else NO_OPERATIONS,
    }


def told_brokers(
    node: ListeningNode, context: RequestContext, fenced: Container[int] = ()
) -> Iterator[tuple[BrokerImage, str, int]]:
    """Those that are alive, and of the others those that are named; each with its host and port for this client."""
    for broker in sorted(node.image.brokers.values(), key=lambda broker: broker.broker_id):
        if broker.alive or broker.broker_id in fenced:
            yield broker, *advertised(node, broker.broker_id, context)


def topic_items(
    image: MetadataImage, names: Iterable[str] | None, allowed: Operations, failed: dict[str, ErrorCode]
) -> list[MetadataResponseTopicBody]:
    found = [_told(image, allowed, failed, name) for name in (image.topics if names is None else names)]
    found.sort(key=itemgetter(0))
    return [item for _, item in found]


def _told(
    image: MetadataImage, allowed: Operations, failed: dict[str, ErrorCode], name: str
) -> tuple[int, MetadataResponseTopicBody]:
    """A topic and its place: known ones first, then unknown ones, then names no topic can have, at last those of which
    nothing is told. Kafka's order."""
    if failed and failed.get(name) is _REFUSED:
        return 3, {**_missing(name, _REFUSED), "is_internal": False}
    topic = image.topics.get(name)
    if topic is not None:
        return 0, topic_item(image, topic, allowed(name))
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
    node: MetadataEncoder, context: RequestContext, request: MetadataRequest, wanted: Sequence[MetadataRequestTopic]
) -> Answered[Body]:
    """Once one topic is asked for by id, only ids count (as in Kafka)."""
    with_topics = request.include_topic_authorized_operations
    allowed = partial(operations, node, context, AclResourceType.TOPIC) if with_topics else _not_asked
    ids = list(dict.fromkeys(topic.topic_id for topic in wanted if topic.topic_id != ZERO_UUID))
    told = partial(_told_by_id, node, context, allowed)
    with_cluster = request.include_cluster_authorized_operations
    if len(ids) > _TOPICS_AT_ONCE:
        return _by_id_in_turns(node, context, ids, told, with_cluster)
    return _whole(node, context, [told(topic_id) for topic_id in ids], with_cluster)


async def _by_id_in_turns(
    node: MetadataEncoder,
    context: RequestContext,
    ids: list[bytes],
    told: Callable[[bytes], MetadataResponseTopicBody],
    with_cluster: bool,
) -> Body:
    body = _whole(node, context, await in_turns(ids, told), with_cluster)
    return await encode(node.read_threads, body, context)


def _told_by_id(
    node: MetadataEncoder, context: RequestContext, allowed: Operations, topic_id: bytes
) -> MetadataResponseTopicBody:
    topic = node.lifecycle.told_image.topic_by_id(topic_id)
    if topic is None:
        return _missing(None, ErrorCode.UNKNOWN_TOPIC_ID, topic_id)
    if not may(node, context, DESCRIBE, TOPIC, topic.name):
        return _missing(None, _REFUSED, topic_id)
    return topic_item(node.image, topic, allowed(topic.name))


async def _refusal(
    node: ReadThreads, context: RequestContext, wanted: Sequence[MetadataRequestTopic], code: ErrorCode
) -> Body:
    topics = await in_turns(wanted, lambda topic: _missing(topic.name or "", code, topic.topic_id))
    body: MetadataResponseBody = {"brokers": [], "cluster_id": None, "controller_id": -1, "topics": topics}
    return body if len(topics) <= _TOPICS_AT_ONCE else await encode(node.read_threads, body, context)
