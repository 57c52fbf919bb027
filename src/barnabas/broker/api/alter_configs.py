"""AlterConfigs (33), versions 0-2: replaces all the settings of a resource by those given. Older tools use it; what
they do not name is lost, which is why IncrementalAlterConfigs exists.

Versions: 1 throttling by the client (KIP-219), 2 flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.api.incremental_alter_configs import in_order, permitted_changes, result_item
from barnabas.broker.network.context import RequestContext
from barnabas.core.cluster import ConfigChange
from barnabas.core.cluster.controller import Controller

if TYPE_CHECKING:
    from barnabas.broker.api.roles import ControllerNode
    from barnabas.wire.messages import AlterConfigsRequest, AlterConfigsResponseBody

_SET = 0


async def handle(
    node: ControllerNode, request: AlterConfigsRequest, context: RequestContext
) -> AlterConfigsResponseBody:
    changes = [
        ConfigChange(
            resource.resource_type,
            resource.resource_name,
            [(config.name, _SET, config.value) for config in resource.configs],
        )
        for resource in request.resources
    ]
    allowed, refused = permitted_changes(node, changes, context)
    results = await node.controller.submit(Controller.alter_configs, allowed, request.validate_only)
    return {"responses": [result_item(result) for result in in_order(changes, results, refused)]}
