"""What a partition remembers of one producer: enough to tell a new batch from a duplicate and from a gap.

The owner of the partition (core/partition) decides with it, storage keeps it in `<offset>.snapshot` files. The fields
are those of Kafka's producer snapshot (KIP-98), so a snapshot of either broker opens in the other.
"""

from typing import NamedTuple


class ProducerEntry(NamedTuple):
    producer_id: int
    producer_epoch: int
    last_sequence: int  # of the last record of the last batch, -1 when only a marker was written
    last_offset: int  # of the last batch, -1 likewise
    offset_delta: int  # last offset minus base offset of that batch
    last_timestamp: int
    coordinator_epoch: int = -1
    current_txn_first_offset: int = -1  # -1 when no transaction is open
