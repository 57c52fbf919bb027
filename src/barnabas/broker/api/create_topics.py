"""CreateTopics (19), versions 2-7: some topics of a request may fail while the others are made.

v4 takes -1 for the defaults of partitions and replicas; v5 answers with what the topic has become, its settings
included; v7 adds its id. The answer leaves when the topics are in the metadata log, safe, so the timeout of the
request is never reached. A request with many topics is decided in parts, so that others are served in between.

Versions: 3 throttling by the client (KIP-219), 4 defaults for partitions and replicas (KIP-464), 5 flexible, and the
topic as it was made (KIP-525), 6 THROTTLING_QUOTA_EXCEEDED (KIP-599), 7 topic ids (KIP-516).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from barnabas.broker.api.permissions import CREATE, DESCRIBE_CONFIGS, TOPIC, TOPIC_REFUSED, may, may_on_cluster, sees
from barnabas.broker.network.context import RequestContext
from barnabas.broker.network.loop_budget import in_turns
from barnabas.core.cluster import NewTopic, TopicResult
from barnabas.core.cluster.controller import Controller
from barnabas.core.cluster.topics import check_request
from barnabas.model.errors import ErrorCode
from barnabas.model.limits import PARTITIONS_PER_REQUEST_MAX
from barnabas.model.settings import TOPIC_SETTINGS, Settings, value_text

if TYPE_CHECKING:
    from barnabas.broker.api.roles import AdminNode
    from barnabas.core.access.quotas.meters import Charge
    from barnabas.wire.messages import (
        CreatableTopic,
        CreatableTopicConfigsBody,
        CreatableTopicResultBody,
        CreateTopicsRequest,
        CreateTopicsResponseBody,
    )

_STRICT_SINCE = 6  # THROTTLING_QUOTA_EXCEEDED
_AT_ONCE = 256  # topics of one decision: 25 us each, and their records have to be played onto the image


async def handle(node: AdminNode, request: CreateTopicsRequest, context: RequestContext) -> CreateTopicsResponseBody:
    if node.access is not None and not may_on_cluster(node, context, CREATE):
        return await _of_some(node, request, context)
    return await _created(node, request, context)


async def _of_some(node: AdminNode, request: CreateTopicsRequest, context: RequestContext) -> CreateTopicsResponseBody:
    """Those that may be created one by one; a name that stands there twice is refused for that (as in Kafka)."""
    times = Counter(topic.name for topic in request.topics)
    allowed = {name for name in times if times[name] > 1 or may(node, context, CREATE, TOPIC, name)}
    some = [topic for topic in request.topics if topic.name in allowed]
    body = await _created(node, replace(request, topics=some), context)
    refused: list[CreatableTopicResultBody] = [
        {"name": name, "error_code": TOPIC_REFUSED, "error_message": "Authorization failed.", "configs": []}
        for name in times
        if name not in allowed
    ]
    return {**body, "topics": [*body["topics"], *refused]}


async def _created(node: AdminNode, request: CreateTopicsRequest, context: RequestContext) -> CreateTopicsResponseBody:
    wanted = await in_turns(request.topics, _wanted)
    charge = node.controller.charge(context, _STRICT_SINCE)
    if len(wanted) <= _AT_ONCE:
        results = await node.controller.submit(Controller.create_topics, wanted, request.validate_only, charge)
    else:
        results = await _in_parts(node, wanted, request.validate_only, charge)
    topics = await in_turns(results, partial(_item, node, context))
    return {"throttle_time_ms": 0 if charge is None else charge.throttle_ms, "topics": topics}


def _wanted(topic: CreatableTopic) -> NewTopic:
    return NewTopic(
        topic.name,
        topic.num_partitions,
        topic.replication_factor,
        # One more than may be created is refused as well as all of them, and sooner.
        [(each.partition_index, each.broker_ids) for each in topic.assignments[: PARTITIONS_PER_REQUEST_MAX + 1]],
        [(config.name, config.value) for config in topic.configs],
    )


async def _in_parts(
    node: AdminNode, wanted: list[NewTopic], validate_only: bool, charge: Charge | None
) -> list[TopicResult]:
    """What the request as a whole forbids (a name twice, too many partitions) is judged before it is taken apart."""
    node.controller.check_active()
    if len(wanted) > PARTITIONS_PER_REQUEST_MAX:  # each has one at least: no need to count them
        too_many = f"{len(wanted)} topics in one request, and {PARTITIONS_PER_REQUEST_MAX} partitions are the most"
        names = dict.fromkeys(topic.name for topic in wanted)
        return await in_turns(names, lambda name: TopicResult(name, ErrorCode.POLICY_VIOLATION, too_many))
    refused = check_request(wanted, node.settings)
    once = list({topic.name: topic for topic in wanted}.values())
    results: list[TopicResult] = []
    for at in range(0, len(once), _AT_ONCE):
        part = once[at : at + _AT_ONCE]
        asked = [topic for topic in part if topic.name not in refused]
        submit = node.controller.submit
        made = iter(await submit(Controller.create_topics, asked, validate_only, charge) if asked else ())
        for topic in part:
            error = refused.get(topic.name)
            results.append(next(made) if error is None else TopicResult(topic.name, error.code, error.message))
        await asyncio.sleep(0)
    return results


def _item(node: AdminNode, context: RequestContext, result: TopicResult) -> CreatableTopicResultBody:
    if result.code is not ErrorCode.NONE:
        return {"name": result.name, "error_code": int(result.code), "error_message": result.message, "configs": []}
    if not sees(node, context, DESCRIBE_CONFIGS, TOPIC, result.name):
        return {
            "name": result.name,
            "topic_id": result.topic_id,
            "error_code": 0,
            "error_message": None,
            "topic_config_error_code": TOPIC_REFUSED,
            "num_partitions": -1,
            "replication_factor": -1,
            "configs": None,
        }
    return {
        "name": result.name,
        "topic_id": result.topic_id,
        "error_code": 0,
        "error_message": None,
        "num_partitions": result.num_partitions,
        "replication_factor": result.replication_factor,
        "configs": _configs(node.settings, result),
    }


def _configs(settings: Settings, result: TopicResult) -> list[CreatableTopicConfigsBody]:
    view = settings.topic(result.configs)
    items: list[CreatableTopicConfigsBody] = []
    for name in sorted(name for name, row in TOPIC_SETTINGS.items() if not row.internal or name in result.configs):
        value, source = view.resolve(name)
        items.append(
            {
                "name": name,
                "value": value_text(value),
                "read_only": False,
                "config_source": int(source),
                "is_sensitive": False,
            }
        )
    return items
