"""DescribeScramKeys (10001), version 0: what the cluster keeps of its users' passwords, for a link to another one.

An API of our own, so that no request of Kafka's gives away keys. Version 0 is flexible. They are given to who has
CLUSTER_ACTION on the cluster, which nodes have and with which the metadata log can be read anyway, has logged in
otherwise than by a delegation token, and is connected by TLS. Not where everybody has that right, for want of an
authorizer or of a rule. Who names the digest of what it has is given nothing while that is all.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from barnabas.broker.api.permissions import CLUSTER, CLUSTER_ACTION, refused_on_cluster
from barnabas.broker.network.context import RequestContext
from barnabas.core.access.authorizer import Reason
from barnabas.core.cluster.access.linked_users import UserKeys, given
from barnabas.model.access import CLUSTER_NAME
from barnabas.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.broker.api.roles import UserKeysNode
    from barnabas.wire.messages import DescribeScramKeysRequest, DescribeScramKeysResponseBody, ScramKeysBody


async def handle(
    node: UserKeysNode, request: DescribeScramKeysRequest, context: RequestContext
) -> DescribeScramKeysResponseBody:
    if node.access is None:
        raise KafkaError(ErrorCode.SECURITY_DISABLED, "keys of users are not given by a cluster without an authorizer")
    decision = node.access.explain(context.session, CLUSTER_ACTION, CLUSTER, CLUSTER_NAME)
    if not context.session.may_use_tokens or decision.reason is Reason.NO_RULE_AT_ALL:
        raise refused_on_cluster(node, context, CLUSTER_ACTION)
    if not context.session.is_encrypted:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, "keys of users are given on a connection with TLS only")
    answer: DescribeScramKeysResponseBody = {"error_code": 0, "error_message": None}
    if request.check_only:
        return answer
    found = await asyncio.get_running_loop().run_in_executor(node.read_threads, given, node.image.scram)
    answer |= {"digest": found.digest, "users_left_out": found.left_out}
    if found.digest != bytes(request.known_digest):
        answer["keys"] = [_body(keys) for keys in found.keys]
    return answer


def _body(keys: UserKeys) -> ScramKeysBody:
    return {
        "user": keys.user,
        "mechanism": keys.mechanism,
        "iterations": keys.iterations,
        "salt": keys.salt,
        "stored_key": keys.stored_key,
        "server_key": keys.server_key,
    }
