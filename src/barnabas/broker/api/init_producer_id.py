"""InitProducerId (22), versions 0-6: an id and an epoch for a producer (KIP-98, KIP-360, KIP-939).

v3 lets a producer keep its id and raise its epoch after an error, v6 keeps a prepared transaction. Ids come in blocks
from the cluster's metadata, so no id is given twice, after a crash neither. With a transactional id the coordinator
answers, which fences whoever used the id before.

Versions: 1 throttling by the client (KIP-219), 2 flexible, 3 keeps an id and raises its epoch (KIP-360), 4
PRODUCER_FENCED (KIP-588), 5 TRANSACTION_ABORTABLE (KIP-890), 6 two-phase commit (KIP-939).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from barnabas.broker.api.permissions import TOPIC, WRITE, may_on_cluster, refused_on_cluster, require_transactional_id
from barnabas.broker.network.context import Answered, RequestContext
from barnabas.model.access import AclOperation
from barnabas.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.broker.api.roles import TransactionsNode
    from barnabas.wire.messages import InitProducerIdRequest, InitProducerIdResponseBody

_NONE = -1
_TWO_PHASE_SINCE = 6


def handle(
    node: TransactionsNode, request: InitProducerIdRequest, context: RequestContext
) -> Answered[InitProducerIdResponseBody]:
    _check_allowed(node, request, context)
    if (request.producer_id == _NONE) != (request.producer_epoch == _NONE):
        return _refused(ErrorCode.INVALID_REQUEST)
    if request.transactional_id is not None:
        if not request.transactional_id:
            return _refused(ErrorCode.INVALID_REQUEST)
        return _for_transactions(node, request.transactional_id, request, context)
    producer_id = node.producer_ids.take_now()
    if producer_id is not None:
        return _granted(producer_id)
    return _granted_later(node)


def _check_allowed(node: TransactionsNode, request: InitProducerIdRequest, context: RequestContext) -> None:
    """Without a transactional id: who may write somewhere may have an id (KIP-679)."""
    access, name = node.access, request.transactional_id
    if access is None:
        return
    if name is not None:
        require_transactional_id(node, context, WRITE, name)
        if context.api_version >= _TWO_PHASE_SINCE and request.enable2_pc:
            require_transactional_id(node, context, AclOperation.TWO_PHASE_COMMIT, name)
    elif not may_on_cluster(node, context, AclOperation.IDEMPOTENT_WRITE) and not access.allows_some(
        context.session, WRITE, TOPIC
    ):
        raise refused_on_cluster(node, context, AclOperation.IDEMPOTENT_WRITE)


async def _for_transactions(
    node: TransactionsNode, transactional_id: str, request: InitProducerIdRequest, context: RequestContext
) -> InitProducerIdResponseBody:
    try:
        if (preparing := node.transactions.prepared()) is not None:
            await asyncio.wait([preparing])
        await _ids_at_hand(node)
        answer = node.transactions.ask(transactional_id, request, context)
        return await answer if isinstance(answer, asyncio.Future) else answer
    except KafkaError as error:
        return _refused(error.code)


async def _granted_later(node: TransactionsNode) -> InitProducerIdResponseBody:
    try:
        await _ids_at_hand(node)
    except KafkaError as error:
        return _refused(error.code)
    return _granted(await node.producer_ids.take())


async def _ids_at_hand(node: TransactionsNode) -> None:
    """A new block comes from the controller; while there is none, the client is told to come again."""
    try:
        await node.producer_ids.fill()
    except KafkaError as error:
        raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, error.message) from error


def _granted(producer_id: int) -> InitProducerIdResponseBody:
    return {"error_code": 0, "producer_id": producer_id, "producer_epoch": 0}


def _refused(code: ErrorCode) -> InitProducerIdResponseBody:
    return {"error_code": int(code), "producer_id": -1, "producer_epoch": -1}
