"""Makes `_schemas` where it is missing, with as many replicas as the cluster has nodes for, three at most."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from barnabas.link.async_nodes import AsyncNodes
from barnabas.link.codes import name_of
from barnabas.model.errors import ErrorCode
from barnabas.model.limits import REGISTRY_BODY_MAX_BYTES
from barnabas.model.settings import ResourceType
from barnabas.registry.errors import store_failed
from barnabas.wire.apis import CREATE_TOPICS, DESCRIBE_CONFIGS

if TYPE_CHECKING:
    from barnabas.wire.messages import CreateTopicsResponse, DescribeConfigsResponse

log = logging.getLogger("barnabas.registry")

_POLICY = "cleanup.policy"
_REPLICAS = 3
_TIMEOUT_MS = 15_000
_UNKNOWN = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)


async def ensure_topic(nodes: AsyncNodes, topic: str) -> None:
    """A topic that is there is taken as it is, if it has one partition: ids depend on the order of its records."""
    told = next(iter((await nodes.look_up([topic])).topics), None)
    if told is not None and told.error_code == ErrorCode.NONE:
        if len(told.partitions) != 1:
            raise store_failed(f"topic {topic} has {len(told.partitions)} partitions; a registry's has one")
        await _check_policy(nodes, topic)
        return
    if told is not None and told.error_code not in _UNKNOWN:
        raise store_failed(f"topic {topic} cannot be looked up: {name_of(told.error_code)}")
    replicas = min(_REPLICAS, len(await nodes.node_ids()))
    configs = {
        _POLICY: "compact",
        "min.insync.replicas": str(2 if replicas == _REPLICAS else 1),
        "max.message.bytes": str(2 * REGISTRY_BODY_MAX_BYTES),
    }
    body = {
        "topics": [
            {
                "name": topic,
                "num_partitions": 1,
                "replication_factor": replicas,
                "assignments": [],
                "configs": [{"name": name, "value": value} for name, value in configs.items()],
            }
        ],
        "timeout_ms": _TIMEOUT_MS,
        "validate_only": False,
    }
    answer: CreateTopicsResponse = await nodes.ask_any(CREATE_TOPICS, body, timeout_s=_TIMEOUT_MS / 1000 + 5)
    made = answer.topics[0]
    if made.error_code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
        raise store_failed(f"topic {topic} was not created: {made.error_message or name_of(made.error_code)}")
    log.info("created topic %s with %d replicas", topic, replicas)


async def _check_policy(nodes: AsyncNodes, topic: str) -> None:
    """Schemas would expire where it is not compacted. Whoever may not see the setting is not kept from serving."""
    asked = {"resource_type": ResourceType.TOPIC, "resource_name": topic, "configuration_keys": [_POLICY]}
    answer: DescribeConfigsResponse = await nodes.ask_any(DESCRIBE_CONFIGS, {"resources": [asked]})
    for entry in answer.results[0].configs:
        if entry.name == _POLICY and entry.value != "compact":
            raise store_failed(
                f"topic {topic} has {_POLICY}={entry.value}, so schemas would be lost: is it a registry's? "
                f"Then: barnabas topic alter {topic} --set {_POLICY}=compact"
            )
