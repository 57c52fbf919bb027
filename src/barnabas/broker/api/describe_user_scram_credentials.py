"""DescribeUserScramCredentials (50), version 0: which users log in by SCRAM, by which mechanism and how often their
passwords were hashed (KIP-554). Without names: all of them. One that is named twice is told so.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from barnabas.broker.network.context import RequestContext
from barnabas.core.access.credentials import NO_USER
from barnabas.model.errors import ErrorCode

if TYPE_CHECKING:
    from barnabas.broker.api.roles import ImageNode
    from barnabas.wire.messages import (
        CredentialInfoBody,
        DescribeUserScramCredentialsRequest,
        DescribeUserScramCredentialsResponseBody,
        DescribeUserScramCredentialsResultBody,
    )


def handle(
    node: ImageNode, request: DescribeUserScramCredentialsRequest, context: RequestContext
) -> DescribeUserScramCredentialsResponseBody:
    known: dict[str, list[CredentialInfoBody]] = {}
    for (user, mechanism), credential in node.image.scram.items():
        if (user, mechanism) != NO_USER:
            known.setdefault(user, []).append({"mechanism": mechanism, "iterations": credential.iterations})
    asked = Counter(user.name for user in request.users or ()) or dict.fromkeys(known, 1)
    results = [_result(name, times, known.get(name, [])) for name, times in asked.items()]
    return {"error_code": 0, "error_message": None, "results": results}


def _result(user: str, times: int, infos: list[CredentialInfoBody]) -> DescribeUserScramCredentialsResultBody:
    code, message = ErrorCode.NONE, None
    if times > 1:
        code = ErrorCode.DUPLICATE_RESOURCE
        message = f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
    elif not infos:
        code = ErrorCode.RESOURCE_NOT_FOUND
        message = f"Attempt to describe a user credential that does not exist: {user}"
    return {
        "user": user,
        "error_code": int(code),
        "error_message": message,
        "credential_infos": [] if code else infos,
    }
