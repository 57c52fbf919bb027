"""CreateTopics (19), versions 2-7: some topics of a request may fail while the others are made.

v4 takes -1 for the defaults of partitions and replicas; v5 answers with what the topic has become, its settings
included; v7 adds its id. The answer leaves when the topics are in the metadata log, safe, so the timeout of the
request is never reached.
"""

from typing import TYPE_CHECKING, Any

from barnabas.broker.context import RequestContext
from barnabas.core.cluster import NewTopic, TopicResult
from barnabas.model.errors import ErrorCode
from barnabas.model.settings import TOPIC_SETTINGS, Settings, value_text

if TYPE_CHECKING:
    from barnabas.broker.node import Node


async def handle(node: "Node", request: Any, context: RequestContext) -> dict[str, Any]:
    wanted = [
        NewTopic(
            topic.name,
            topic.num_partitions,
            topic.replication_factor,
            [(assignment.partition_index, assignment.broker_ids) for assignment in topic.assignments],
            [(config.name, config.value) for config in topic.configs],
        )
        for topic in request.topics
    ]
    results = await node.controller.submit("create_topics", wanted, request.validate_only)
    return {"topics": [_item(node.settings, result) for result in results]}


def _item(settings: Settings, result: TopicResult) -> dict[str, Any]:
    if result.code is not ErrorCode.NONE:
        return {"name": result.name, "error_code": int(result.code), "error_message": result.message, "configs": []}
    return {
        "name": result.name,
        "topic_id": result.topic_id,
        "error_code": 0,
        "error_message": None,
        "num_partitions": result.num_partitions,
        "replication_factor": result.replication_factor,
        "configs": _configs(settings, result),
    }


def _configs(settings: Settings, result: TopicResult) -> list[dict[str, Any]]:
    view = settings.topic(result.configs)
    items = []
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
