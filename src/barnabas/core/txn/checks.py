"""What a request about a transactional id is asked first: is the id known, is the producer the one that holds it?"""

from barnabas.core.txn.shard_state import ShardState
from barnabas.core.txn.transaction import Transaction
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.limits import TRANSACTIONAL_ID_MAX_BYTES


def check_id(transactional_id: str | None) -> str:
    if not transactional_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "the transactional id is empty")
    if len(transactional_id.encode()) > TRANSACTIONAL_ID_MAX_BYTES:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"a transactional id has at most {TRANSACTIONAL_ID_MAX_BYTES} bytes"
        )
    return transactional_id


def known(world: ShardState, transactional_id: str | None) -> Transaction:
    name = check_id(transactional_id)
    transaction = world.transactions.get(name)
    if transaction is None:
        raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING, f"no producer has the transactional id {name!r}")
    return transaction


def check_producer(transaction: Transaction, producer_id: int, producer_epoch: int) -> None:
    """Only the producer that initialized last may speak for the transactional id."""
    client_id, client_epoch = transaction.client_producer
    if producer_id != client_id:
        raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING, f"the producer id is {client_id}, not {producer_id}")
    if producer_epoch != client_epoch:
        raise KafkaError(ErrorCode.PRODUCER_FENCED, f"the epoch is {client_epoch}, not {producer_epoch}")


def concurrent() -> KafkaError:
    return KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS, "the markers of the last transaction are being written")
