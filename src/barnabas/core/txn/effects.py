"""What a step of the transaction coordinator asks its driver to do, in this order:

1. append `records`, in one batch where they fit;
2. when they are committed (flushed and replicated; at once when nothing is outstanding), release `replies` and send
   `markers`.

A marker that left before its Prepare record was safe could commit in one partition what a reloaded coordinator aborts
in the others. That is the one way to break atomicity, so there is no marker without `after_commit`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from barnabas.core.coordinator import contract
from barnabas.model.ids import TopicPartition


@dataclass(frozen=True, slots=True)
class SendMarkers:
    """Write the end of a transaction into these partitions, and report back with this same object.

    `number` tells the endings of one shard apart: with the old generation two transactions in a row carry the same
    producer id and epoch, and a late report about the first must not count for the second.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    commit: bool
    partitions: frozenset[TopicPartition]
    transaction_version: int  # WriteTxnMarkers 2 carries it: from 2 on the epoch must be above the data's
    number: int


@dataclass(frozen=True, slots=True)
class Effects(contract.Effects):
    markers: Sequence[SendMarkers] = field(default_factory=list)
