"""DescribeClientQuotas (48), versions 0-1: the quotas of users, client ids and addresses that a filter finds (KIP-546).

Versions: 1 flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.network.context import RequestContext
from barnabas.broker.network.loop_budget import LoopBudget
from barnabas.core.access.quotas.filters import Component, QuotaFilter

if TYPE_CHECKING:
    from barnabas.broker.api.roles import ImageNode
    from barnabas.wire.messages import (
        DescribeClientQuotasRequest,
        DescribeClientQuotasResponseBody,
        DescribeClientQuotasResponseEntryDataBody,
    )


async def handle(
    node: ImageNode, request: DescribeClientQuotasRequest, context: RequestContext
) -> DescribeClientQuotasResponseBody:
    components = (Component(part.entity_type, part.match_type, part.match) for part in request.components)
    wanted = QuotaFilter(components, request.strict)
    entries: list[DescribeClientQuotasResponseEntryDataBody] = []
    budget = LoopBudget()
    for entity, values in node.image.quotas.by_entity.items():
        if wanted.matches(entity):
            entries.append(
                {
                    "entity": [{"entity_type": kind, "entity_name": name} for kind, name in reversed(entity)],
                    "values": [{"key": key, "value": value} for key, value in values.items()],
                }
            )
        await budget.pause()
    return {"error_code": 0, "error_message": None, "entries": entries}
