"""The answer that says no, in the shape of each request, and in words its version knows.

PRODUCER_FENCED came with KIP-588: clients below these versions know the same fact as INVALID_PRODUCER_EPOCH.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from barnabas.core.coordinator.contract import B
from barnabas.core.txn.add import FIRST_BATCHED_VERSION, topic_results
from barnabas.core.txn.admin import undescribed
from barnabas.model.errors import ErrorCode

if TYPE_CHECKING:
    from barnabas.wire.messages import Request

_FIRST_TO_KNOW_FENCED = {22: 4, 24: 2, 25: 2, 26: 2}


def refusal(api_key: int, request: Request[B], version: int, code: ErrorCode) -> B:
    refused: B = _refusal(api_key, request, version, code)
    return refused


# Any: the API key says what is asked, and what it is answered.
def _refusal(api_key: int, request: Any, version: int, code: ErrorCode) -> Any:
    if code is ErrorCode.PRODUCER_FENCED and version < _FIRST_TO_KNOW_FENCED.get(api_key, 0):
        code = ErrorCode.INVALID_PRODUCER_EPOCH
    match api_key:
        case 22 | 26:
            return {"error_code": int(code), "producer_id": -1, "producer_epoch": -1}
        case 24 if version >= FIRST_BATCHED_VERSION:
            results = [
                {"transactional_id": item.transactional_id, "topic_results": topic_results(item.topics, code)}
                for item in request.transactions
            ]
            return {"error_code": 0, "results_by_transaction": results}
        case 24:
            return {"results_by_topic_v3_and_below": topic_results(request.v3_and_below_topics, code)}
        case 65:
            return {"transaction_states": [undescribed(name, code) for name in request.transactional_ids]}
        case _:
            return {"error_code": int(code)}
