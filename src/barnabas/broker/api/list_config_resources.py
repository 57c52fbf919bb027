"""ListConfigResources (74), versions 0-1: what has settings. v0 lists metrics subscriptions only (it had another name
then, KIP-714); v1 lists topics, brokers, their loggers, groups and subscriptions, of the types asked for (KIP-1142).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.network.context import RequestContext
from barnabas.model.errors import ErrorCode
from barnabas.model.settings import ResourceType

if TYPE_CHECKING:
    from barnabas.broker.roles import ClusterView
    from barnabas.wire.messages import ConfigResourceBody, ListConfigResourcesRequest, ListConfigResourcesResponseBody

_ALL = (
    ResourceType.BROKER_LOGGER,
    ResourceType.BROKER,
    ResourceType.TOPIC,
    ResourceType.GROUP,
    ResourceType.CLIENT_METRICS,
)


def handle(
    node: ClusterView, request: ListConfigResourcesRequest, context: RequestContext
) -> ListConfigResourcesResponseBody:
    wanted = [ResourceType.CLIENT_METRICS] if context.api_version == 0 else request.resource_types or _ALL
    if not set(wanted) <= {*_ALL, ResourceType.LINK}:
        return {"error_code": int(ErrorCode.UNSUPPORTED_VERSION), "config_resources": []}
    resources: list[ConfigResourceBody] = [
        {"resource_name": name, "resource_type": int(kind)}
        for kind in (*_ALL, ResourceType.LINK)  # links only for who asks for them: Kafka's clients do not know them
        if kind in wanted
        for name in _names(node, kind)
    ]
    return {"error_code": 0, "config_resources": resources}


def _names(node: ClusterView, kind: ResourceType) -> list[str]:
    match kind:
        case ResourceType.TOPIC:
            return list(node.image.topics)
        case ResourceType.BROKER | ResourceType.BROKER_LOGGER:
            return [str(broker.broker_id) for broker in node.image.live_brokers()]
        case _:
            return [name for stored, name in node.image.configs if stored == kind]
