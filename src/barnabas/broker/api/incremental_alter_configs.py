"""IncrementalAlterConfigs (44), versions 0-1: set, delete, append to or subtract from single settings (KIP-339).

Topics, brokers, groups and metrics subscriptions go through the controller into the metadata log; log levels are this
node's own affair and change at once (KIP-412).

Versions: 1 flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.api.permissions import ALTER_CONFIGS, GuardedNode, config_refusal
from barnabas.broker.network.context import RequestContext
from barnabas.broker.settings.loggers import change_levels
from barnabas.core.cluster import ConfigChange, ConfigResult
from barnabas.core.cluster.controller import Controller
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.settings import ResourceType

if TYPE_CHECKING:
    from barnabas.broker.api.roles import AdminNode
    from barnabas.wire.messages import (
        IncrementalAlterConfigsRequest,
        IncrementalAlterConfigsResponseAlterConfigsResourceResponseBody,
        IncrementalAlterConfigsResponseBody,
    )


async def handle(
    node: AdminNode, request: IncrementalAlterConfigsRequest, context: RequestContext
) -> IncrementalAlterConfigsResponseBody:
    changes = [
        ConfigChange(
            resource.resource_type,
            resource.resource_name,
            [(config.name, config.config_operation, config.value) for config in resource.configs],
        )
        for resource in request.resources
    ]
    allowed, refused = permitted_changes(node, changes, context)
    stored = [change for change in allowed if change.resource_type != ResourceType.BROKER_LOGGER]
    results = await node.controller.submit(Controller.incremental_alter_configs, stored, request.validate_only)
    logger_changes = [change for change in allowed if change.resource_type == ResourceType.BROKER_LOGGER]
    results = [*results, *(_alter_loggers(node, change, request.validate_only) for change in logger_changes)]
    return {"responses": [result_item(result) for result in in_order(changes, results, refused)]}


def permitted_changes(
    node: GuardedNode, changes: list[ConfigChange], context: RequestContext
) -> tuple[list[ConfigChange], dict[tuple[int, str], ConfigResult]]:
    """Those that whoever asks may make, and the refusals of the others."""
    refused: dict[tuple[int, str], ConfigResult] = {}
    if node.access is not None:
        for change in changes:
            key = (change.resource_type, change.resource_name)
            error = config_refusal(node, context, ALTER_CONFIGS, *key)
            if error is not None:
                refused[key] = ConfigResult(*key, error.code, error.message)
    return [change for change in changes if (change.resource_type, change.resource_name) not in refused], refused


def in_order(
    changes: list[ConfigChange], results: list[ConfigResult], refused: dict[tuple[int, str], ConfigResult]
) -> list[ConfigResult]:
    if not refused:
        return results
    found = iter(results)
    keys = [(change.resource_type, change.resource_name) for change in changes]
    return [refused[key] if key in refused else next(found) for key in keys]


def result_item(result: ConfigResult) -> IncrementalAlterConfigsResponseAlterConfigsResourceResponseBody:
    return {
        "error_code": int(result.code),
        "error_message": result.message,
        "resource_type": result.resource_type,
        "resource_name": result.resource_name,
    }


def _alter_loggers(node: AdminNode, change: ConfigChange, validate_only: bool) -> ConfigResult:
    key = (change.resource_type, change.resource_name)
    try:
        if change.resource_name != str(node.node_id):
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"this is broker {node.node_id}, not {change.resource_name!r}")
        change_levels(list(change.changes), validate_only)
    except KafkaError as error:
        return ConfigResult(*key, error.code, error.message)
    return ConfigResult(*key)
