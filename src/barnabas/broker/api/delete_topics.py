"""DeleteTopics (20), versions 1-6: by name, from v6 by id as well.

The topic is gone from the metadata when the answer leaves; its files follow in the background. v1 and v2 do not know
TOPIC_DELETION_DISABLED and are told INVALID_REQUEST instead.

Versions: 2 throttling by the client (KIP-219), 3 TOPIC_DELETION_DISABLED, 4 flexible, 5 error messages and
THROTTLING_QUOTA_EXCEEDED (KIP-599), 6 topics by id (KIP-516).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from barnabas.broker.api.permissions import DELETE, DESCRIBE, TOPIC, may, may_on_cluster, sees
from barnabas.broker.network.context import RequestContext
from barnabas.core.cluster import DeletedTopic
from barnabas.core.cluster.controller import Controller
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID

if TYPE_CHECKING:
    from barnabas.broker.api.roles import AclsNode
    from barnabas.wire.messages import DeletableTopicResultBody, DeleteTopicsRequest, DeleteTopicsResponseBody

_STRICT_SINCE = 5  # THROTTLING_QUOTA_EXCEEDED

Named = tuple[str | None, bytes]  # by name, or by id


async def handle(node: AclsNode, request: DeleteTopicsRequest, context: RequestContext) -> DeleteTopicsResponseBody:
    if context.api_version >= 6:
        wanted: list[Named] = [(topic.name, topic.topic_id) for topic in request.topics]
    else:
        wanted = [(name, ZERO_UUID) for name in request.topic_names]
    refused = {} if node.access is None else _refused(node, wanted, context)
    allowed = [topic for topic in wanted if topic not in refused]
    charge = node.controller.charge(context, _STRICT_SINCE)
    results = await node.controller.submit(Controller.delete_topics, allowed, charge, linked=context.session.of_node)
    if refused:
        results = _in_order(wanted, results, refused)
    responses: list[DeletableTopicResultBody] = []
    for result in results:
        code = result.code
        if code is ErrorCode.TOPIC_DELETION_DISABLED and context.api_version < 3:
            code = ErrorCode.INVALID_REQUEST
        responses.append(
            {
                "name": result.name,
                "topic_id": result.topic_id,
                "error_code": int(code),
                "error_message": result.message,
            }
        )
    return {"throttle_time_ms": 0 if charge is None else charge.throttle_ms, "responses": responses}


def _in_order(
    wanted: list[Named], results: list[DeletedTopic], refused: dict[Named, DeletedTopic]
) -> list[DeletedTopic]:
    """As they were asked for; a request that names topics twice has fewer results, and then the refusals come last."""
    if len(results) + len(refused) != len(wanted):
        return [*results, *refused.values()]
    answers = iter(results)
    return [refused[topic] if topic in refused else next(answers) for topic in wanted]


def _refused(node: AclsNode, wanted: list[Named], context: RequestContext) -> dict[Named, DeletedTopic]:
    """Of a topic that may not even be described nobody learns whether it is there, or which name has an id."""
    if may_on_cluster(node, context, DELETE):
        return {}
    node.controller.check_active()
    known = node.controller.machine.image
    code, refused = ErrorCode.TOPIC_AUTHORIZATION_FAILED, dict[Named, DeletedTopic]()
    times = Counter(wanted)
    for asked, topic_id in wanted:
        if times[asked, topic_id] > 1 or (asked is not None and topic_id != ZERO_UUID):
            continue  # refused for that, whoever asks
        name = asked if asked is not None else known.topic_names.get(topic_id)
        if name is None or may(node, context, DELETE, TOPIC, name):
            continue  # an id that nobody has is told to be unknown
        described = sees(node, context, DESCRIBE, TOPIC, name)
        if described and asked is not None and name not in known.topics:
            continue
        shown = name if described else asked
        refused[asked, topic_id] = DeletedTopic(shown, topic_id, code, "Topic authorization failed.")
    return refused
