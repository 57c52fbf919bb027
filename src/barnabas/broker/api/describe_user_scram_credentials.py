"""DescribeUserScramCredentials (50), version 0: there are none. Users asked for by name are not found (KIP-554);
one that is named twice is told so.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from barnabas.broker.network.context import RequestContext
from barnabas.model.errors import ErrorCode

if TYPE_CHECKING:
    from barnabas.wire.messages import (
        DescribeUserScramCredentialsRequest,
        DescribeUserScramCredentialsResponseBody,
        DescribeUserScramCredentialsResultBody,
    )


def handle(
    node: object, request: DescribeUserScramCredentialsRequest, context: RequestContext
) -> DescribeUserScramCredentialsResponseBody:
    results = [_missing(name, times) for name, times in Counter(user.name for user in request.users or ()).items()]
    return {"error_code": 0, "error_message": None, "results": results}


def _missing(user: str, times: int) -> DescribeUserScramCredentialsResultBody:
    if times > 1:
        code = ErrorCode.DUPLICATE_RESOURCE
        message = f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
    else:
        code = ErrorCode.RESOURCE_NOT_FOUND
        message = f"Attempt to describe a user credential that does not exist: {user}"
    return {"user": user, "error_code": int(code), "error_message": message, "credential_infos": []}
