"""InitProducerId (22) with a transactional id, versions 0-6: who may write under this id from now on.

v3 (KIP-360) names the producer it wants to follow, so that a producer can go on after an error and a zombie cannot; v4
knows PRODUCER_FENCED (before: INVALID_PRODUCER_EPOCH). v6 (KIP-939) may ask for transactions that take part in an
external two-phase commit: `enable2_pc` takes their timeout away, `keep_prepared_txn` leaves the open transaction as it
is and only moves the client on. Both are for clusters that allow it (transaction.two.phase.commit.enable) and run
transaction version 2.

An open transaction of whoever was there before is aborted first; the client is told to come again (51), and finds the
epoch raised once more. A named producer that is not the current one is refused before it can do such harm: Kafka aborts
the transaction of the live producer and refuses only when the zombie comes again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.core.coordinator.contract import RequestInfo
from barnabas.core.txn.checks import check_id, concurrent
from barnabas.core.txn.shard_state import ShardState
from barnabas.core.txn.states import TxnState
from barnabas.core.txn.transaction import (
    EPOCH_BUMP_VERSION,
    LAST_CLIENT_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    TWO_PHASE_TIMEOUT_MS,
    Producer,
    Transaction,
)
from barnabas.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.wire.messages import InitProducerIdRequest, InitProducerIdResponseBody


def init_producer_id(
    world: ShardState, request: InitProducerIdRequest, info: RequestInfo
) -> InitProducerIdResponseBody:
    name = check_id(request.transactional_id)
    expected = _expected(request)
    timeout_ms = _timeout(world, request)
    transaction = world.transactions.get(name)
    if transaction is None:
        transaction = Transaction(name, world.fresh_producer_id(), NO_PRODUCER_EPOCH, timeout_ms)
    if transaction.state.is_prepared:
        raise concurrent()
    _check_expected(transaction, expected)
    if transaction.state is TxnState.ONGOING and not request.keep_prepared_txn:
        world.abort(transaction)
        raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS, "the open transaction of this id is being aborted")
    producer, last_epoch = _grant(world, transaction, expected)
    ongoing: Producer = (NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
    if transaction.state is TxnState.ONGOING:
        ongoing = (transaction.producer_id, transaction.producer_epoch)
        two_phase = request.enable2_pc
        world.save(transaction.kept_for(producer, world.wall.stamp_ms, last_epoch=last_epoch, two_phase=two_phase))
    else:
        world.save(transaction.initialized(producer, timeout_ms, world.wall.stamp_ms, last_epoch=last_epoch))
    answer: InitProducerIdResponseBody = {"error_code": 0, "producer_id": producer[0], "producer_epoch": producer[1]}
    if info.api_version >= 6:
        answer["ongoing_txn_producer_id"], answer["ongoing_txn_producer_epoch"] = ongoing
    return answer


def _expected(request: InitProducerIdRequest) -> Producer | None:
    producer_id, epoch = request.producer_id, request.producer_epoch
    if producer_id == NO_PRODUCER_ID and epoch == NO_PRODUCER_EPOCH:
        return None
    if producer_id == NO_PRODUCER_ID or epoch == NO_PRODUCER_EPOCH:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "a producer id comes with its epoch")
    return producer_id, epoch


def _timeout(world: ShardState, request: InitProducerIdRequest) -> int:
    config = world.config
    allowed = config.transaction_two_phase_commit_enable
    if request.enable2_pc and not allowed:
        raise KafkaError(
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "transaction.two.phase.commit.enable is false"
        )
    if request.keep_prepared_txn and not (allowed and config.transaction_version >= EPOCH_BUMP_VERSION):
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "prepared transactions are not kept by this cluster")
    if request.enable2_pc:
        return TWO_PHASE_TIMEOUT_MS
    timeout_ms = request.transaction_timeout_ms
    if not 0 < timeout_ms <= config.transaction_max_timeout_ms:
        raise KafkaError(
            ErrorCode.INVALID_TRANSACTION_TIMEOUT,
            f"{timeout_ms} ms is not between 1 and {config.transaction_max_timeout_ms} (transaction.max.timeout.ms)",
        )
    return timeout_ms


def _check_expected(transaction: Transaction, expected: Producer | None) -> None:
    client_id, client_epoch = transaction.client_producer
    if expected is None or client_epoch == NO_PRODUCER_EPOCH:
        return  # an id nobody has used yet has nobody to fence
    producer_id, epoch = expected
    if producer_id == client_id and epoch in (client_epoch, transaction.last_producer_epoch):
        return
    if _was_rotated(transaction, expected) and transaction.last_producer_epoch == epoch:
        return
    raise KafkaError(ErrorCode.PRODUCER_FENCED, f"the producer is {client_id} at epoch {client_epoch}")


def _was_rotated(transaction: Transaction, expected: Producer) -> bool:
    """The named producer used up its epochs and this id got a new one: its reply may have been lost."""
    producer_id, epoch = expected
    return producer_id == transaction.previous_producer_id and epoch >= LAST_CLIENT_EPOCH


def _grant(world: ShardState, transaction: Transaction, expected: Producer | None) -> tuple[Producer, int]:
    """The pair the client gets, and the epoch by which a repetition of this request is known."""
    client = transaction.client_producer
    if client[1] == NO_PRODUCER_EPOCH:
        return (client[0], 0), NO_PRODUCER_EPOCH
    if expected is not None and expected != client:
        return client, transaction.last_producer_epoch  # the same request again: the same answer
    last_epoch = NO_PRODUCER_EPOCH if expected is None else client[1]
    return world.next_producer(transaction), last_epoch
