"""A refused request's answer, in the shape its API has for it.

The driver uses it too: for a shard that is loading, or a group that lives elsewhere.
"""

from typing import Any

from barnabas.core.groups.classic.answers import join_refusal
from barnabas.core.groups.offsets.commit import commit_refusal
from barnabas.core.groups.offsets.fetch import fetch_refusal
from barnabas.model.errors import ErrorCode


def refusal(api_key: int, request: Any, version: int, code: ErrorCode, message: str = "") -> dict[str, Any]:
    match api_key:
        case 8 | 28:
            return commit_refusal(request, version, code)
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


def _described(group_id: str, code: ErrorCode, message: str, says_why: bool) -> dict[str, Any]:
    answer: dict[str, Any] = {"group_id": group_id, "error_code": int(code)}
    if says_why:
        answer["error_message"] = message or None
    return answer
