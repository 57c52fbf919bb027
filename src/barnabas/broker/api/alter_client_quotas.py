"""AlterClientQuotas (49), versions 0-1: quotas of users, client ids and addresses, one by one (KIP-546).

Answered when the quotas are in the metadata log; the nodes keep them from then on.

Versions: 1 flexible.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from barnabas.broker.network.context import RequestContext
from barnabas.broker.network.loop_budget import in_turns
from barnabas.core.access.quotas.rules import CLIENT_ID, IP, USER
from barnabas.core.cluster.access.quotas import QuotaAlteration
from barnabas.core.cluster.controller import Controller
from barnabas.model.errors import KafkaError

if TYPE_CHECKING:
    from barnabas.broker.api.roles import ControllerNode
    from barnabas.wire.messages import (
        AlterClientQuotasRequest,
        AlterClientQuotasRequestEntryData,
        AlterClientQuotasResponseBody,
        AlterClientQuotasResponseEntryDataBody,
    )


async def handle(
    node: ControllerNode, request: AlterClientQuotasRequest, context: RequestContext
) -> AlterClientQuotasResponseBody:
    wanted = await in_turns(request.entries, _alteration)
    results = await node.controller.submit(Controller.alter_quotas, wanted, request.validate_only)
    return {"entries": await in_turns(results, _entry)}


def _alteration(entry: AlterClientQuotasRequestEntryData) -> QuotaAlteration:
    return QuotaAlteration(
        {part.entity_type: part.entity_name for part in entry.entity},
        [(op.key, None if op.remove else op.value) for op in entry.ops],
    )


def _entry(result: tuple[QuotaAlteration, KafkaError | None]) -> AlterClientQuotasResponseEntryDataBody:
    change, error = result
    return {
        "error_code": 0 if error is None else int(error.code),
        "error_message": None if error is None else error.message,
        "entity": [{"entity_type": kind, "entity_name": change.parts[kind]} for kind in _in_order(change.parts)],
    }


def _in_order(parts: Mapping[str, str | None]) -> list[str]:
    """As DescribeClientQuotas has them; unknown ones come last."""
    known = [kind for kind in (CLIENT_ID, USER, IP) if kind in parts]
    return known + [kind for kind in parts if kind not in known]
