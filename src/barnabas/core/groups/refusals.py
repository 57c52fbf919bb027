"""A refused request's answer, in the shape its API has for it.

The driver uses it too: for a shard that is loading, or a group that lives elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from barnabas.core.coordinator.contract import B
from barnabas.core.groups.classic.answers import join_refusal
from barnabas.core.groups.offsets.commit import commit_refusal
from barnabas.core.groups.offsets.fetch import fetch_refusal
from barnabas.core.groups.offsets.transactional import txn_commit_refusal
from barnabas.model.errors import ErrorCode

if TYPE_CHECKING:
    from barnabas.wire.messages import DescribeGroupsResponseDescribedGroupBody, Request


def refusal(api_key: int, request: Request[B], version: int, code: ErrorCode, message: str = "") -> B:
    refused: B = _refusal(api_key, request, version, code, message)
    return refused


# Any: the API key says what is asked, and what it is answered.
def _refusal(api_key: int, request: Any, version: int, code: ErrorCode, message: str) -> Any:
    match api_key:
        case 8:
            return commit_refusal(request, version, code)
        case 28:
            return txn_commit_refusal(request, code)
        case 9:
            return fetch_refusal(request, version, code)
        case 11:
            return join_refusal(code, request.member_id, version)
        case 15:
            return {"groups": [_described(group_id, code, message, version >= 6) for group_id in request.groups]}
        case 42:
            results = [{"group_id": group_id, "error_code": int(code)} for group_id in request.groups_names]
            return {"results": results}
        case 68:
            return {"error_code": int(code), "error_message": message or None}
        case 69:
            return {"groups": [_described(group_id, code, message, True) for group_id in request.group_ids]}
        case _:
            return {"error_code": int(code)}


def _described(
    group_id: str, code: ErrorCode, message: str, says_why: bool
) -> DescribeGroupsResponseDescribedGroupBody:
    answer: DescribeGroupsResponseDescribedGroupBody = {"group_id": group_id, "error_code": int(code)}
    if says_why:
        answer["error_message"] = message or None
    return answer
