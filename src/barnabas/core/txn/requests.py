"""Which request goes where."""

from collections.abc import Callable
from typing import Any

from barnabas.core.coordinator.contract import RequestInfo
from barnabas.core.txn.add import add_offsets, add_partitions
from barnabas.core.txn.admin import describe_transactions, list_transactions
from barnabas.core.txn.end import end_transaction
from barnabas.core.txn.init import init_producer_id
from barnabas.core.txn.shard_state import ShardState

Handler = Callable[[ShardState, Any, RequestInfo], Any]  # the API key says which request, and which answer

HANDLERS: dict[int, Handler] = {
    22: init_producer_id,
    24: add_partitions,
    25: add_offsets,
    26: end_transaction,
    65: describe_transactions,
    66: list_transactions,
}
