"""DeleteTopics (20), versions 1-6: by name, from v6 by id as well.

The topic is gone from the metadata when the answer leaves; its files follow in the background. v1 and v2 do not know
TOPIC_DELETION_DISABLED and are told INVALID_REQUEST instead.

Versions: 2 throttling by the client (KIP-219), 3 TOPIC_DELETION_DISABLED, 4 flexible, 5 error messages and
THROTTLING_QUOTA_EXCEEDED (KIP-599), 6 topics by id (KIP-516).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.network.context import RequestContext
from barnabas.core.cluster.controller import Controller
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID

if TYPE_CHECKING:
    from barnabas.broker.api.roles import ControllerNode
    from barnabas.wire.messages import DeletableTopicResultBody, DeleteTopicsRequest, DeleteTopicsResponseBody


async def handle(
    node: ControllerNode, request: DeleteTopicsRequest, context: RequestContext
) -> DeleteTopicsResponseBody:
    if context.api_version >= 6:
        wanted = [(topic.name, topic.topic_id) for topic in request.topics]
    else:
        wanted = [(name, ZERO_UUID) for name in request.topic_names]
    responses: list[DeletableTopicResultBody] = []
    for result in await node.controller.submit(Controller.delete_topics, wanted):
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
    return {"responses": responses}
