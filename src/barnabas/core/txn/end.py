"""EndTxn (26), versions 0-5: commit or abort. The answer leaves when the outcome is written; the markers follow.

Versions 0-4 are the old generation: two transactions in a row look alike (same producer id, same epoch), so a repeated
EndTxn is taken for done when the last transaction ended that way, and a late one may end the transaction after.

Version 5 (KIP-890): each ending raises the epoch and tells the client its new pair. What the epoch of a request says:

    state            this epoch                     the epoch before
    ---------------  -----------------------------  --------------------------------------------
    Ongoing          ends it                        PRODUCER_FENCED
    Empty            abort ends it, commit 48       PRODUCER_FENCED
    CompleteCommit   abort ends it, commit 48       commit: done already, same answer; abort 48
    CompleteAbort    abort ends it, commit 48       abort: done already, same answer; commit 48
    PrepareX         51                             51

An abort in Empty and CompleteX is that of a client whose writes may still be under way: it must get a new epoch so that
they are refused. "The epoch before" counts only when the last ending raised the epoch: otherwise the one epoch below
belongs to a producer that was fenced. (Kafka lets that one pass, where clients of both generations meet.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.core.coordinator.contract import RequestInfo
from barnabas.core.txn.checks import check_producer, concurrent, known
from barnabas.core.txn.shard_state import ShardState
from barnabas.core.txn.states import TxnState
from barnabas.core.txn.transaction import EPOCH_BUMP_VERSION, LAST_CLIENT_EPOCH, Transaction
from barnabas.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.wire.messages import EndTxnRequest, EndTxnResponseBody

FIRST_VERSION_WITH_BUMP = 5
_COMPLETE = {True: TxnState.COMPLETE_COMMIT, False: TxnState.COMPLETE_ABORT}


def end_transaction(world: ShardState, request: EndTxnRequest, info: RequestInfo) -> EndTxnResponseBody:
    transaction = known(world, request.transactional_id)
    if info.api_version < FIRST_VERSION_WITH_BUMP:
        _end_old(world, transaction, request)
        return {"error_code": 0}
    producer_id, producer_epoch = _end_with_bump(world, transaction, request)
    return {"error_code": 0, "producer_id": producer_id, "producer_epoch": producer_epoch}


def _end_old(world: ShardState, transaction: Transaction, request: EndTxnRequest) -> None:
    check_producer(transaction, request.producer_id, request.producer_epoch)
    if transaction.state.is_prepared:
        raise concurrent()
    if transaction.state is TxnState.ONGOING:
        world.end(transaction.prepared(request.committed, world.wall.stamp_ms))
    elif transaction.state is not _COMPLETE[request.committed]:
        raise _wrong_state(transaction)


def _end_with_bump(world: ShardState, transaction: Transaction, request: EndTxnRequest) -> tuple[int, int]:
    if transaction.state.is_prepared:
        raise concurrent()
    if _is_repeated(transaction, request):
        if transaction.state is not _COMPLETE[request.committed]:
            raise _wrong_state(transaction)
        return transaction.client_producer
    check_producer(transaction, request.producer_id, request.producer_epoch)
    if transaction.state is not TxnState.ONGOING and request.committed:
        raise _wrong_state(transaction)
    world.end_with_bump(transaction, commit=request.committed)
    after = world.transactions[transaction.transactional_id]
    return (after if after.state.is_idle else after.completed(world.wall.stamp_ms)).client_producer


def _is_repeated(transaction: Transaction, request: EndTxnRequest) -> bool:
    if transaction.state not in _COMPLETE.values() or transaction.client_transaction_version < EPOCH_BUMP_VERSION:
        return False
    producer_id, producer_epoch = transaction.client_producer
    if request.producer_id == producer_id:
        return request.producer_epoch == producer_epoch - 1
    return (
        request.producer_id == transaction.previous_producer_id
        and request.producer_epoch == LAST_CLIENT_EPOCH
        and producer_epoch == 0
    )


def _wrong_state(transaction: Transaction) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_TXN_STATE, f"the transaction is {transaction.state.title}")
