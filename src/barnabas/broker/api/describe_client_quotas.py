"""DescribeClientQuotas (48), versions 0-1: nobody can set a quota, so there are none.

Versions: 1 flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.network.context import RequestContext

if TYPE_CHECKING:
    from barnabas.wire.messages import DescribeClientQuotasRequest, DescribeClientQuotasResponseBody


def handle(
    node: object, request: DescribeClientQuotasRequest, context: RequestContext
) -> DescribeClientQuotasResponseBody:
    return {"error_code": 0, "error_message": None, "entries": []}
