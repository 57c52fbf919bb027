"""The settings a transaction coordinator obeys, under Kafka's names.

`transaction_version` is no setting but the cluster's finalized feature level: 0 and 1 are the old generation (1 writes
flexible records), 2 is KIP-890. A client of the old generation is served at any level; the level decides what the
coordinator does on its own account (abort of a timed-out or abandoned transaction).
"""

from dataclasses import dataclass

from barnabas.core.txn.transaction import EPOCH_BUMP_VERSION


@dataclass(frozen=True, slots=True)
class TxnConfig:
    transaction_max_timeout_ms: int = 15 * 60_000
    transactional_id_expiration_ms: int = 7 * 24 * 3_600_000
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = 10_000
    transaction_remove_expired_transaction_cleanup_interval_ms: int = 3_600_000
    transaction_two_phase_commit_enable: bool = False
    add_partitions_to_txn_retry_backoff_ms: int = 20
    add_partitions_to_txn_retry_backoff_max_ms: int = 100
    transaction_version: int = EPOCH_BUMP_VERSION
    marker_retry_backoff_ms: int = 100  # our own: before markers that could not be written are sent again
