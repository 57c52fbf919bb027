"""The transaction coordinator: exactly once over many partitions (KIP-98, 360, 890, 939). It starts at shard.py."""

from barnabas.core.coordinator.contract import Reply, RequestInfo
from barnabas.core.txn.config import TxnConfig
from barnabas.core.txn.effects import Effects, SendMarkers
from barnabas.core.txn.refusals import refusal
from barnabas.core.txn.shard import TxnShard
from barnabas.core.txn.states import TxnState
from barnabas.core.txn.transaction import Transaction

__all__ = [
    "Effects",
    "Reply",
    "RequestInfo",
    "SendMarkers",
    "Transaction",
    "TxnConfig",
    "TxnShard",
    "TxnState",
    "refusal",
]
