"""AlterUserScramCredentials (51), version 0: create, change and delete users that log in by SCRAM (KIP-554).

The client sends the salted password, never the password; the node keeps two keys made from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.network.context import RequestContext
from barnabas.core.cluster.access.scram_users import ScramDeletion, ScramUpsertion
from barnabas.core.cluster.controller import Controller

if TYPE_CHECKING:
    from barnabas.broker.api.roles import ControllerNode
    from barnabas.wire.messages import AlterUserScramCredentialsRequest, AlterUserScramCredentialsResponseBody


async def handle(
    node: ControllerNode, request: AlterUserScramCredentialsRequest, context: RequestContext
) -> AlterUserScramCredentialsResponseBody:
    deletions = [ScramDeletion(each.name, each.mechanism) for each in request.deletions]
    upsertions = [
        ScramUpsertion(each.name, each.mechanism, each.iterations, bytes(each.salt), bytes(each.salted_password))
        for each in request.upsertions
    ]
    results = await node.controller.submit(Controller.alter_scram_credentials, deletions, upsertions)
    return {
        "results": [
            {"user": result.user, "error_code": int(result.error), "error_message": result.message}
            for result in results
        ]
    }
